"""Plans: all data once, in the storage's order, in a bounded number of pieces."""

from collections.abc import Iterator

import pytest

from ingot.images.content import Extent
from ingot.images.fault import ImageFault
from ingot.images.pipeline import plan as plans
from ingot.images.pipeline.plan import UNIT, Piece, Plan

GRAIN = 1 << 16


class _Scattered:
    """Data of 512 bytes at each place, stored in the reverse order."""

    def __init__(self, places: list[int], size: int) -> None:
        self.places = places
        self.size = size

    def readinto(self, start: int, buffer: memoryview) -> None: ...

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        behind = start
        for index, place in enumerate(self.places):
            if behind < place:
                yield Extent(behind, place - behind, False, 0)
            yield Extent(place, 512, True, (len(self.places) - index) * 512)
            behind = place + 512
        yield Extent(behind, end - behind, False, 0)

    def close(self) -> None: ...


def _pieces(plan: Plan) -> list[Piece]:
    return [piece for index in range(len(plan)) for piece in plan.unit(index)]


def test_few_pieces_are_taken_as_they_are_stored() -> None:
    plan = Plan(_Scattered([0, 4096, 2 * GRAIN], 1 << 20), "the disk")
    assert _pieces(plan) == [Piece(2 * GRAIN, 512), Piece(4096, 512), Piece(0, 512)]


def test_many_pieces_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST", 64)
    places = [*range(0, GRAIN, 1024), *range(5 * GRAIN + 512, 7 * GRAIN, 2048), 9 * GRAIN]
    size = 9 * GRAIN + 700
    plan = Plan(_Scattered(places, size), "the disk")
    assert _pieces(plan) == [Piece(9 * GRAIN, 700), Piece(5 * GRAIN, 2 * GRAIN), Piece(0, GRAIN)]
    assert plan.digest == Plan(_Scattered(places, size), "the disk").digest


def test_pieces_all_over_the_place_are_joined_in_larger_grains_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "_MOST", 8)
    plan = Plan(_Scattered(list(range(0, 4 << 20, 1 << 18)), 64 << 20), "the disk")
    assert _pieces(plan) == [Piece(start, UNIT) for start in range(0, 4 << 20, UNIT)]
    with pytest.raises(ImageFault, match="over 8 places") as caught:
        Plan(_Scattered(list(range(0, 32 << 20, 2 << 20)), 64 << 20), "disk.qcow2")
    assert (caught.value.subject, caught.value.reason) == ("disk.qcow2", "TooFragmented")


def test_a_huge_disk_takes_no_room_for_its_units() -> None:
    class Full(_Scattered):
        def extents(self, start: int, end: int) -> Iterator[Extent]:
            yield Extent(0, 700, True, 1 << 60)
            yield Extent(700, end - 700, True, 0)

    plan = Plan(Full([], (1 << 50) - 5), "the disk")
    assert (len(plan), plan.total) == (1 << 32, (1 << 50) - 5)
    assert plan.unit(0) == [Piece(700, UNIT)]
    assert plan.unit((1 << 32) - 1) == [Piece((1 << 50) - UNIT + 700, UNIT - 705), Piece(0, 700)]
    assert sum(piece.length for piece in plan.unit((1 << 32) - 1)) == plan.size((1 << 32) - 1) == UNIT - 5
