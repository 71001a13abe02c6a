"""Parts of the server by themselves: options, directories, what is kept, what is counted, clients that dawdle."""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from full_disk import full_disk
from ingot.images.content import Extent, read
from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve import kept as kept_module
from ingot.serve.afar import Afar, AfarOptions
from ingot.serve.catalog import Catalog
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport
from ingot.serve.folder import Folder
from ingot.serve.guest import Guest
from ingot.serve.kept import BLOCK, Allowance, KeptContent
from ingot.serve.opening import Opener
from ingot.serve.option import BadOption, parse_info, parse_meta
from ingot.serve.tally import Tally
from ingot.serve.totals import Totals


class TestOptions:
    def test_they_are_read(self) -> None:
        assert parse_info(b"\0\0\0\4disk\0\2\0\1\0\3") == ("disk", [1, 3])
        assert parse_meta(b"\0\0\0\4disk\0\0\0\2\0\0\0\1a\0\0\0\2bc") == ("disk", [b"a", b"bc"])

    @given(some.binary(max_size=100))
    def test_nothing_breaks_them(self, data: bytes) -> None:
        for parse in (parse_info, parse_meta):
            try:
                name, _ = parse(data)
            except BadOption:
                continue
            assert len(name.encode()) <= len(data)


def _catalog(tmp_path: Path) -> Catalog:
    return Catalog(Opener(Afar(AfarOptions(str(tmp_path / "cache"), 1 << 20))))


class TestCatalog:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> Path:
        path = tmp_path / "disk"
        path.write_bytes(b"x" * 1000)
        return path

    def test_an_export_is_open_once_and_closed_with_its_last_user(self, disk: Path, tmp_path: Path) -> None:
        catalog = _catalog(tmp_path)
        catalog.add(Entry("disk", str(disk)))
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        first, second = catalog.take("disk"), catalog.take("")
        assert first.export is second.export
        assert second.name == "disk"
        first.release()
        view = bytearray(3)
        second.export.readinto(0, memoryview(view))
        assert view == b"xxx"
        second.release()
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208

    def test_a_removed_one_is_used_to_its_end(self, disk: Path, tmp_path: Path) -> None:
        catalog = _catalog(tmp_path)
        catalog.add(Entry("disk", str(disk)))
        lease = catalog.take("disk")
        catalog.remove("disk")
        with pytest.raises(KeyError):
            catalog.take("disk")
        catalog.add(Entry("disk", str(disk)))
        again = catalog.take("disk")
        assert again.export is not lease.export
        lease.export.readinto(0, memoryview(bytearray(3)))
        lease.release()
        again.release()

    def test_the_empty_name_is_none_of_several(self, disk: Path, tmp_path: Path) -> None:
        catalog = _catalog(tmp_path)
        catalog.add(Entry("a", str(disk)))
        catalog.add(Entry("b", str(disk)))
        with pytest.raises(KeyError):
            catalog.take("")

    def test_what_cannot_be_opened_leaves_nothing_open(self, tmp_path: Path) -> None:
        (tmp_path / "bad").write_bytes(b"QFI\xfb" + bytes(600))
        catalog = _catalog(tmp_path)
        catalog.add(Entry("bad", str(tmp_path / "bad")))
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        with pytest.raises(ImageFault):
            catalog.take("bad")
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208

    @pytest.mark.parametrize(("name", "shown"), [("", "back.qcow2"), ("disks", "disks/back.qcow2")])
    def test_a_bad_image_in_a_directory_is_told_once_by_its_name(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, shown: str
    ) -> None:
        catalog, bad = _catalog(tmp_path), tmp_path / "images/back.qcow2"
        bad.parent.mkdir()
        bad.write_bytes(b"QFI\xfb")
        catalog.add(Entry(name, str(bad.parent)))
        for _ in range(3):
            with pytest.raises(ImageFault):
                catalog.take(shown)
        assert [record.message.partition(":")[0] for record in caplog.records] == [f"export '{shown}' cannot be opened"]
        bad.write_bytes(b"raw".ljust(4096))
        catalog.take(shown).release()
        bad.write_bytes(b"QFI\xfb")
        with pytest.raises(ImageFault):
            catalog.take(shown)
        assert len(caplog.records) == 2

    @pytest.mark.parametrize("name", ["/x", "a\nb", "x" * 256, "a\\b", "\x7f"])
    def test_names_that_cannot_be_are_refused(self, name: str) -> None:
        with pytest.raises(ImageFault, match="is no name of an export"):
            Entry(name, "/dev/null").check()


class TestFolders:
    def test_listing_is_bounded_and_sorted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ingot.serve.folder.MOST_LISTED", 3)
        for number in range(5):
            (tmp_path / f"disk{number}").touch()
        folder = Folder(tmp_path)
        assert folder.names() == ["disk0", "disk1", "disk2"]
        os.close(folder.open("disk4"))
        folder.close()

    @pytest.mark.parametrize("name", ["", ".", "..", ".x", "a/b", "../x", "loop", "gone", "out", "a\0b", "ä" * 200])
    def test_others_are_not_there(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "out").symlink_to("/etc/hostname")
        folder = Folder(tmp_path)
        with pytest.raises(KeyError):
            folder.open(name)
        folder.close()

    def test_it_is_the_same_directory_whatever_its_name_leads_to(self, tmp_path: Path) -> None:
        (tmp_path / "images").mkdir()
        (tmp_path / "images" / "disk").write_bytes(b"good")
        folder = Folder(tmp_path / "images")
        (tmp_path / "images").rename(tmp_path / "old")
        (tmp_path / "images").symlink_to("/etc")
        assert folder.names() == ["disk"]
        folder.close()


class Slow:
    """Content that counts what is read of it, and fails where it is told to."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.reads: list[tuple[int, int]] = []
        self.failing = False
        self.gate = threading.Event()
        self.gate.set()

    def readinto(self, start: int, buffer: memoryview) -> None:
        self.gate.wait(10)
        self.reads.append((start, len(buffer)))
        if self.failing:
            raise ImageFault("slow", "Away", "it is away", retry=True)
        buffer[:] = self.data[start : start + len(buffer)]

    def extents(self, start: int, end: int) -> object:
        return iter([Extent(start, end - start, True, start)])

    def close(self) -> None: ...


def test_a_hint_to_fetch_a_whole_disk_takes_no_longer_than_a_read() -> None:
    slow = Slow(bytes(64 << 20))
    ContentExport(slow, slow=True).ahead(100, (64 << 20) - 100)
    assert slow.reads == [(100, 1 << 20)]


class TestKept:
    DATA = os.urandom(3 * BLOCK + 100)

    def test_each_block_is_fetched_once(self, tmp_path: Path) -> None:
        slow = Slow(self.DATA)
        kept = KeptContent(slow, tmp_path, Allowance(1 << 30))
        assert read(kept, BLOCK + 5, 10) == self.DATA[BLOCK + 5 : BLOCK + 15]
        assert read(kept, 0, kept.size) == self.DATA
        assert read(kept, 7, kept.size - 7) == self.DATA[7:]
        assert slow.reads == [(BLOCK, BLOCK), (0, BLOCK), (2 * BLOCK, BLOCK + 100)]
        assert kept.fetched == kept.size
        kept.close()

    def test_all_who_wait_for_a_block_get_it_from_one_fetch(self, tmp_path: Path) -> None:
        slow = Slow(self.DATA)
        slow.gate.clear()
        kept = KeptContent(slow, tmp_path, Allowance(1 << 30))
        with ThreadPoolExecutor(8) as pool:
            reads = [pool.submit(read, kept, 100 * number, 100) for number in range(8)]
            slow.gate.set()
            assert all(made.result() == self.DATA[100 * n : 100 * n + 100] for n, made in enumerate(reads))
        assert len(slow.reads) == 1
        kept.close()

    def test_what_failed_is_fetched_again(self, tmp_path: Path) -> None:
        slow = Slow(self.DATA)
        kept = KeptContent(slow, tmp_path, Allowance(1 << 30))
        slow.failing = True
        with pytest.raises(ImageFault):
            read(kept, 0, 10)
        slow.failing = False
        assert read(kept, 0, kept.size) == self.DATA
        kept.close()

    def test_a_full_disk_means_that_it_is_fetched_again_and_is_said_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        slow, allowance = Slow(self.DATA), Allowance(1 << 30)
        kept = KeptContent(slow, tmp_path, allowance)
        assert read(kept, 0, 10) == self.DATA[:10]
        with full_disk(BLOCK + 100):
            for _ in range(2):
                assert read(kept, 5, kept.size - 5) == self.DATA[5:]
            # Whoever asked for the blocks that were not kept has them from their only fetch.
            assert slow.reads[1:3] == [(BLOCK, 2 * BLOCK + 100), (BLOCK, BLOCK)]
            monkeypatch.setattr(kept_module, "_FULL_SECONDS", 0.0)
            kept._full_until = 0.0
            assert read(kept, 2 * BLOCK, 10) == self.DATA[2 * BLOCK : 2 * BLOCK + 10]
        assert [record.message for record in caplog.records] == [
            f"{tmp_path} takes no more (File too large); what is read of URLs is fetched again each time"
        ]
        # With room again it keeps what it fetches.
        for _ in range(2):
            assert read(kept, 0, kept.size) == self.DATA
        assert slow.reads[-1] == (BLOCK, 2 * BLOCK + 100)
        kept.close()
        assert allowance.take(1 << 20) == (1 << 30) // BLOCK

    def test_a_directory_that_was_deleted_is_made_again(self, tmp_path: Path) -> None:
        directory = tmp_path / "cache"
        kept = KeptContent(Slow(self.DATA), directory, Allowance(1 << 30))
        directory.rmdir()
        assert read(kept, 0, kept.size) == self.DATA
        kept.close()
        KeptContent(Slow(self.DATA), directory, Allowance(1 << 30)).close()
        assert directory.stat().st_mode & 0o777 == 0o700

    def test_no_more_is_kept_than_allowed(self, tmp_path: Path) -> None:
        slow = Slow(self.DATA)
        kept = KeptContent(slow, tmp_path, Allowance(BLOCK))
        for _ in range(2):
            assert read(kept, 0, kept.size) == self.DATA
        assert sum(1 for start, _ in slow.reads if start == 0) == 1
        assert sum(1 for start, _ in slow.reads if start == BLOCK) == 2
        kept.close()

    def test_several_share_what_may_be_kept_until_they_are_closed(self, tmp_path: Path) -> None:
        allowance = Allowance(BLOCK)
        first, second = (KeptContent(Slow(self.DATA), tmp_path, allowance) for _ in range(2))
        slow = Slow(self.DATA)
        third = KeptContent(slow, tmp_path, allowance)
        assert read(first, 0, 10) == self.DATA[:10]
        for _ in range(2):
            assert read(third, 0, 10) == self.DATA[:10]
        assert slow.reads == [(0, 10), (0, 10)]
        first.close()
        for _ in range(2):
            assert read(third, 0, 10) == self.DATA[:10]
        assert slow.reads[2:] == [(0, BLOCK)]
        third.close()
        second.close()
        assert allowance.take(5) == 1


def test_totals_travel_between_processes() -> None:
    tally = Tally()
    tally.requests[0] = 3
    tally.read = 12288
    tally.answered(3, 5_000)
    totals = Totals()
    for number in range(100):
        totals.add(f"disk{number}", tally)
        totals.fetched(f"disk{number}", number)
    totals.present("disk7")
    read_back = Totals()
    for page in totals.pages():
        read_back.read(page)
    read_back.merge(totals)
    seven = read_back.exports["disk7"]
    assert (seven.present, seven.served, seven.fetched) == (2, 2, 14)
    assert (seven.tally.read, seven.tally.requests[0], seven.tally.buckets[3]) == (24576, 6, 6)
    assert len(read_back.exports) == 100


class TestDawdling:
    @pytest.mark.parametrize("said", [b"", b"\0\0\0\3", b"\0\0\0\3IHAVEOPT\0\0\0\7\0\0\0\x20half"])
    def test_a_client_that_takes_too_long_is_ended(self, tmp_path: Path, said: bytes) -> None:
        ours, theirs = socket.socketpair()
        guest = Guest(ours, "test", _catalog(tmp_path), None, 0.0)
        thread = threading.Thread(target=guest.serve)
        thread.start()
        with theirs:
            theirs.settimeout(10)
            assert theirs.recv(18) == wire.GREETING.pack(wire.INIT_MAGIC, wire.OPTION_MAGIC, 3)
            theirs.sendall(said)
            assert guest.deadline is not None
            guest.expire()
            assert theirs.recv(1) == b""
            thread.join(10)
            assert not thread.is_alive()
