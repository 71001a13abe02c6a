"""Extents that an NBD server tells: joined, worth their while, and not without end."""

from collections.abc import Callable

import pytest

from ingot.images.fault import ImageFault
from ingot.images.nbd import client, wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.client import NbdContent
from ingot.images.nbd.negotiation import Terms

_SIZE = 1 << 24
_ZERO = wire.STATE_HOLE | wire.STATE_ZERO
Status = Callable[[int, int], list[tuple[int, int]]]


def _content(monkeypatch: pytest.MonkeyPatch, status: Status) -> NbdContent:
    """Behind a server with that block status."""

    class Told:
        terms = Terms(size=_SIZE, structured=True, context=1)

        def __init__(self, _address: Address) -> None: ...

        def status(self, start: int, length: int) -> list[tuple[int, int]]:
            return status(start, length)

    monkeypatch.setattr(client, "Connection", Told)
    return NbdContent(Address("disk"))


def _extents(content: NbdContent, start: int = 0, end: int = _SIZE) -> list[tuple[int, int, bool]]:
    return [(extent.start, extent.length, extent.data) for extent in content.extents(start, end)]


def test_neighbours_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    def status(start: int, length: int) -> list[tuple[int, int]]:
        """One extent of 64 KiB in each reply, zeros in the second quarter."""
        zero = _SIZE // 4 <= start < _SIZE // 2
        return [(min(65536 - start % 65536, length), _ZERO if zero else 0)]

    content = _content(monkeypatch, status)
    quarter = _SIZE // 4
    assert _extents(content) == [(0, quarter, True), (quarter, quarter, False), (2 * quarter, 2 * quarter, True)]
    assert _extents(content, quarter + 5, quarter + 9) == [(quarter + 5, 4, False)]
    assert _extents(content, quarter - 1, quarter + 8000) == [(quarter - 1, 1, True), (quarter, 8000, False)]
    assert _extents(content, 7, 7) == []


def test_small_holes_are_data(monkeypatch: pytest.MonkeyPatch) -> None:
    content = _content(monkeypatch, lambda start, length: [(512, 0), (512, _ZERO)] * (length // 1024))
    assert _extents(content) == [(0, _SIZE, True)]


@pytest.mark.parametrize("count", [1, 100_000])
def test_a_disk_in_single_bytes_is_refused(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    asked = 0

    def status(start: int, length: int) -> list[tuple[int, int]]:
        nonlocal asked
        asked += 1
        return [(1, _ZERO * (place % 2)) for place in range(start, start + min(count, length))]

    with pytest.raises(ImageFault, match="without block status"):
        _extents(_content(monkeypatch, status))
    assert asked < 5000
