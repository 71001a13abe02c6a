"""Archives of strangers, unpacked into a volume: all files or none, and none beside it."""

import errno
import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingot.images.archive import tree
from ingot.images.archive.staging import BEGUN, WHOLE, Staging
from ingot.images.archive.unpacker import Unpacked, unpack, unpack_blob
from ingot.images.blob import FileBlob
from ingot.images.fault import ImageFault
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source
from unprivileged import run_as_owner


def _entry(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 0, mode: int = 0o644
) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size, entry.mode, entry.mtime = kind, link, size, mode, 1_000_000_000
    return entry


def _tar(*entries: tarfile.TarInfo | tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for each in entries:
            entry, content = each if isinstance(each, tuple) else (each, b"")
            entry.size = len(content) or entry.size
            archive.addfile(entry, io.BytesIO(content) if content else None)
    return buffer.getvalue()


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "volume").mkdir()
    return tmp_path / "volume"


def _unpack(
    content: bytes, volume: Path, progress: Callable[[int, int], None] = lambda *_: None, **options: Any
) -> Unpacked:
    archive = volume.with_name("archive")
    archive.write_bytes(content)
    return unpack(Source(Kind.FILE, str(archive)), volume, ImportOptions(**options), progress)


def _refused(content: bytes, volume: Path, **options: Any) -> ImageFault:
    with pytest.raises(ImageFault) as caught:
        _unpack(content, volume, **options)
    assert list(volume.iterdir()) == []
    assert not caught.value.retry
    return caught.value


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("packed", [False, True])
def test_files_directories_and_links(volume: Path, form: int, packed: bool) -> None:
    """G1: contentType archive."""
    # The oldest form has links of up to 100 bytes.
    long = "/".join(["d" * 30] * (3 if form == tarfile.USTAR_FORMAT else 9))
    content = _tar(
        _entry("./", tarfile.DIRTYPE, mode=0o755),
        _entry("dir", tarfile.DIRTYPE, mode=0o550),
        (_entry("dir/file", mode=0o4750), b"x" * 70_000),
        (_entry(f"{long}/deep"), b"deep"),
        _entry("link", tarfile.SYMTYPE, "dir/file"),
        _entry("dir/up", tarfile.SYMTYPE, f"../{long}/deep"),
        _entry("same", tarfile.LNKTYPE, "dir/file"),
        _entry("empty"),
        form=form,
    )
    told: list[tuple[int, int]] = []
    done = _unpack(gzip.compress(content) if packed else content, volume, lambda *figures: told.append(figures))
    assert sorted(each.name for each in volume.iterdir()) == ["d" * 30, "dir", "empty", "link", "same"]
    assert (volume / "dir" / "file").read_bytes() == b"x" * 70_000
    assert (volume / long / "deep").read_text() == (volume / "dir" / "up").read_text() == "deep"
    assert (volume / "same").samefile(volume / "link")
    assert stat.S_IMODE((volume / "dir").stat().st_mode) == 0o550
    assert stat.S_IMODE((volume / "dir" / "file").stat().st_mode) == 0o750, "nobody gets rights of another by a file"
    assert (volume / "dir").stat().st_mtime == (volume / "dir" / "file").stat().st_mtime == 1_000_000_000
    assert (done.size, told[-1][0]) == (70_004, told[-1][1])


def test_zeros_become_holes(volume: Path) -> None:
    content = bytes(1 << 20) + b"data" + bytes(3 << 20)
    _unpack(_tar((_entry("sparse"), content)), volume)
    assert (volume / "sparse").read_bytes() == content
    assert (volume / "sparse").stat().st_blocks * 512 <= 1 << 17


def test_the_last_of_several_of_one_name_counts(volume: Path) -> None:
    _unpack(_tar((_entry("file"), b"old"), (_entry("file"), b"new")), volume)
    assert (volume / "file").read_bytes() == b"new"


@pytest.mark.parametrize(
    "entries",
    [
        [_entry("../out")],
        [_entry("dir/../../out")],
        [_entry("x", tarfile.SYMTYPE, "/etc/passwd")],
        [_entry("x", tarfile.SYMTYPE, "../etc")],
        [_entry("dir/x", tarfile.SYMTYPE, "../../etc")],
        [_entry("a/b", tarfile.SYMTYPE, ".."), _entry("c", tarfile.SYMTYPE, "a/b/..")],
        [_entry("x", tarfile.SYMTYPE, "dir"), _entry("x/file")],
        [_entry("x", tarfile.LNKTYPE, "../out")],
        [_entry("x", tarfile.LNKTYPE, "missing")],
        [_entry("l", tarfile.SYMTYPE, "f"), _entry("x", tarfile.LNKTYPE, "l")],
        [_entry("null", tarfile.CHRTYPE)],
        [_entry("disk", tarfile.BLKTYPE)],
        [_entry("pipe", tarfile.FIFOTYPE)],
        [_entry("sparse", tarfile.GNUTYPE_SPARSE)],
        [_entry("file"), _entry("file/below")],
        [_entry("dir/x"), _entry("dir")],
    ],
    ids=lambda entries: "-".join(f"{each.name}>{each.linkname}" for each in entries),
)
def test_what_leads_out_or_is_no_file_is_refused(volume: Path, entries: list[tarfile.TarInfo]) -> None:
    assert _refused(_tar(_entry("before"), *entries), volume).reason == "BadTar"
    assert not (volume.parent / "out").exists()


def test_names_from_the_root_are_names_in_the_volume(volume: Path) -> None:
    _unpack(_tar((_entry("/etc/passwd"), b"x")), volume)
    assert (volume / "etc" / "passwd").read_bytes() == b"x"


@pytest.mark.parametrize(
    "content", [os.urandom(100_000), b"QFI\xfb" + bytes(4096), b"x"], ids=["noise", "qcow2", "short"]
)
def test_what_is_no_archive(volume: Path, content: bytes) -> None:
    assert _refused(content, volume).reason in ("NotTar", "Truncated")


def test_an_empty_file_is_no_archive(volume: Path) -> None:
    assert _refused(b"", volume).reason == "Truncated"


@pytest.mark.parametrize("packed", [False, True])
def test_one_that_ends_early(volume: Path, packed: bool) -> None:
    content = _tar((_entry("file"), os.urandom(100_000)))
    cut = gzip.compress(content)[:-20_000] if packed else content[:50_000]
    assert _refused(cut, volume).reason == "Truncated"


def test_one_that_is_too_large(volume: Path) -> None:
    content = _tar((_entry("a"), bytes(60_000)), (_entry("b"), bytes(60_000)))
    assert _refused(content, volume, size=100_000).reason == "TooLarge"
    assert _unpack(content, volume, limit=120_000).size == 120_000


@pytest.mark.parametrize(
    "entry",
    [
        lambda number: _entry(f"d{number}", tarfile.DIRTYPE),
        lambda number: _entry(f"l{number}", tarfile.SYMTYPE, "elsewhere"),
        lambda number: _entry(f"h{number}", tarfile.LNKTYPE, "file"),
        lambda number: _entry(f"e{number}"),
        lambda number: (_entry(f"s{number}"), b"x"),
    ],
    ids=["directories", "symbolic", "hard", "empty", "small"],
)
def test_what_has_no_bytes_takes_room_too(volume: Path, entry: Callable[[int], Any]) -> None:
    """Otherwise an archive of some kilobytes fills the node's disk, or takes all of its inodes."""
    content = _tar((_entry("file"), b"x"), *map(entry, range(16)))
    assert _refused(content, volume, size=16 * 4096).reason == "TooLarge"
    _unpack(content, volume, size=17 * 4096)
    assert len(list(volume.iterdir())) == 17


def test_directories_that_are_only_implied_take_room_too(volume: Path) -> None:
    content = _tar(*((_entry(f"{number}/a/b/c/file"), b"x") for number in range(4)))
    assert _refused(content, volume, size=19 * 4096).reason == "TooLarge"
    _unpack(content, volume, size=20 * 4096)


def test_a_directory_that_is_named_again_takes_no_more_room_and_the_last_rights_count(volume: Path) -> None:
    again = [_entry("d", tarfile.DIRTYPE, mode=0o700) for _ in range(9)]
    _unpack(_tar(*again, _entry("d", tarfile.DIRTYPE, mode=0o750)), volume, size=4096)
    assert stat.S_IMODE((volume / "d").stat().st_mode) == 0o750


@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.DIRTYPE])
def test_what_lies_too_deep_is_refused(volume: Path, kind: bytes) -> None:
    assert "65 levels deep" in str(_refused(_tar(_entry("/".join(["d"] * 65), kind)), volume))
    _unpack(_tar(_entry("/".join(["d"] * 64), kind)), volume)
    assert (volume / "/".join(["d"] * 64)).exists()


def test_names_of_directories_do_not_fill_the_memory(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_MOST_NAMES", 1000)
    assert (
        _refused(_tar(*(_entry(f"{number:0100}", tarfile.DIRTYPE) for number in range(11))), volume).reason == "BadTar"
    )
    _unpack(_tar(*(_entry(f"{number:0100}", tarfile.DIRTYPE) for number in range(10))), volume)


def test_a_header_that_would_fill_the_memory(volume: Path) -> None:
    assert _refused(_tar(_entry("x"), _entry("y", tarfile.XHDTYPE, size=1 << 33)), volume).reason == "BadTar"


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_the_checksum_is_that_of_the_archive(volume: Path, algorithm: str) -> None:
    content = _tar((_entry("file"), b"content"))
    right = hashlib.new(algorithm, content).hexdigest()
    wrong = hashlib.new(algorithm, b"other").hexdigest()
    assert _refused(content, volume, checksum=f"{algorithm}:{wrong}").reason == "WrongDigest"
    _unpack(content, volume, checksum=f"{algorithm}:{right.upper()}")
    assert (volume / "file").exists()


def test_who_was_killed_while_unpacking_begins_anew(volume: Path) -> None:
    with Staging(volume) as staging:
        staging.begin()
    (volume / BEGUN / "half").write_text("half")
    _unpack(_tar((_entry("file"), b"content")), volume)
    assert [each.name for each in volume.iterdir()] == ["file"]


def test_who_was_killed_while_showing_the_files_goes_on(volume: Path) -> None:
    """Some are in their places, the others are not: nothing is fetched again."""
    with Staging(volume) as staging:
        staging.begin()
        (volume / BEGUN / "second").write_text("second")
        staging.commit()
    (volume / "first").write_text("first")
    assert _unpack(b"this is not looked at", volume).fetched == 0
    assert sorted(each.name for each in volume.iterdir()) == ["first", "second"]


def test_who_was_killed_before_anybody_knew_of_the_end_takes_the_own_place(volume: Path) -> None:
    """The files are shown, and the process has not ended: its pod is started again."""
    link = _entry("link", tarfile.SYMTYPE, "dir")
    content = _tar((_entry("dir/sub/file"), b"content"), (_entry("top"), b"top"), link)
    for _ in range(2):
        assert _unpack(content, volume).size == 10
        assert sorted(each.name for each in volume.iterdir()) == ["dir", "link", "top"]
        assert (volume / "dir" / "sub" / "file").read_bytes() == b"content"
    _unpack(_tar((_entry("dir"), b"a file"), (_entry("top/file"), b"in a directory")), volume)
    assert ((volume / "dir").read_bytes(), (volume / "top" / "file").read_bytes()) == (b"a file", b"in a directory")
    assert sorted(each.name for each in volume.iterdir()) == ["dir", "top"], "and nothing of an archive of before"


class Killed(BaseException):
    """Nothing is done after this, as after a signal."""


@pytest.mark.parametrize("call", ["rename", "unlink", "rmdir", "mkdir"])
def test_who_was_killed_at_any_moment_leaves_no_mix_of_two_archives(
    volume: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Before each call that changes the volume, while the files of an archive are replaced that has changed since."""
    old = _tar((_entry("both"), b"old"), (_entry("gone/file"), b"old"), (_entry("gone.txt"), b"old"))
    new = _tar((_entry("both"), b"new"), (_entry("file"), b"new"), (_entry("more/file"), b"new"))
    real, calls, killed = getattr(os, call), 0, True
    (volume / "lost+found").mkdir()

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls -= 1
        if calls < 0:
            raise Killed
        return real(*args, **options)

    for most in range(100):
        _unpack(old, volume)
        calls, killed = most, False
        with monkeypatch.context() as patch:
            patch.setattr(os, call, counted)
            try:
                _unpack(new, volume)
            except Killed:
                killed = True
        _unpack(new, volume)
        assert sorted(each.name for each in volume.iterdir()) == ["both", "file", "lost+found", "more"]
        assert {each.read_bytes() for each in volume.rglob("*") if each.is_file()} == {b"new"}
        if not killed:
            break
    assert most > 0
    assert not killed


def test_what_may_not_be_changed_or_read_is_moved_and_replaced_and_copied(volume: Path) -> None:
    """Workers of a cluster are not root."""
    locked = [_entry("top", tarfile.DIRTYPE, mode=0o555), _entry("dir/below", tarfile.DIRTYPE, mode=0o100)]
    archive, copy = volume.with_name("archive"), volume.with_name("copy")
    copy.mkdir()
    archive.write_bytes(_tar(*locked, (_entry("top/file", mode=0), b"x"), (_entry("dir/below/file"), b"y")))
    run_as_owner(
        f"""if True:
        import os
        from pathlib import Path
        from ingot.images.archive.copier import copy_files
        from ingot.images.archive.unpacker import unpack
        from ingot.images.pipeline.options import ImportOptions
        from ingot.images.pipeline.source import Kind, Source
        os.geteuid = lambda: 107
        for _ in range(2):
            unpack(Source(Kind.FILE, {str(archive)!r}), Path({str(volume)!r}), ImportOptions(), lambda *_: None)
        copy_files(Path({str(volume)!r}), Path({str(copy)!r}), lambda *_: None)
        """
    )
    for there in (volume, copy):
        modes = [stat.S_IMODE((there / each).stat().st_mode) for each in ("top", "top/file", "dir/below")]
        assert modes == [0o555, 0o400, 0o500]
        assert ((there / "top" / "file").read_bytes(), (there / "dir" / "below" / "file").read_bytes()) == (b"x", b"y")


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.REGTYPE])
def test_an_archive_with_a_name_of_ours_is_refused(volume: Path, own: bool, kind: bytes) -> None:
    archive = volume.with_name("archive")
    archive.write_bytes(_tar(_entry("file"), _entry(WHOLE, kind)))
    with Staging(volume, own=own) as staging, FileBlob(archive) as blob, pytest.raises(ImageFault) as caught:
        unpack_blob(blob, None, staging, 1 << 20, lambda *_: None)
    assert caught.value.reason == "Exists"
    assert list(volume.iterdir()) == []


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A directory of the machine, with the same names as the archive."""
    (tmp_path / "host" / "below").mkdir(parents=True)
    (tmp_path / "host" / "shadow").write_text("secret")
    return tmp_path / "host"


def _is_as_it_was(host: Path) -> bool:
    return sorted(each.name for each in host.iterdir()) == ["below", "shadow"]


def test_a_link_in_the_place_of_the_files_moves_nothing_of_the_machine(volume: Path, host: Path) -> None:
    """A user who has the volume too puts it there after the files were found."""
    with Staging(volume, own=True) as staging:
        staging.begin()
        (volume / BEGUN / "shadow").write_text("from the archive")
        staging.commit()
        (volume / WHOLE).rename(volume / "away")
        (volume / WHOLE).symlink_to(host)
        with pytest.raises(NotADirectoryError):
            staging.publish()
    assert _is_as_it_was(host)
    assert (volume / "shadow").read_text() == "from the archive"


def test_a_link_in_the_place_of_what_is_filled_leads_nowhere(volume: Path, host: Path) -> None:
    with Staging(volume, own=True) as staging:
        staging.begin()
        (volume / BEGUN).rename(volume / "away")
        (volume / BEGUN).symlink_to(host)
        staging.commit()
        with pytest.raises(NotADirectoryError):
            staging.publish()
    assert _is_as_it_was(host)


def test_links_that_were_there_before_are_not_followed(volume: Path, host: Path) -> None:
    (volume / BEGUN).symlink_to(host)
    _unpack(_tar((_entry("file"), b"content")), volume)
    assert [each.name for each in volume.iterdir()] == ["file"]
    (volume / WHOLE).symlink_to(host)
    with pytest.raises(ImageFault, match="take an empty volume"):
        _unpack(_tar((_entry("file"), b"content")), volume)
    assert _is_as_it_was(host)


def test_what_lies_deep_is_thrown_away_too(volume: Path) -> None:
    (volume / BEGUN).mkdir()
    at = os.open(volume / BEGUN, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    _unpack(_tar((_entry("file"), b"content")), volume)
    assert [each.name for each in volume.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives directories to others")
def test_files_that_another_user_prepared_are_not_taken_for_the_archives(volume: Path) -> None:
    (volume / WHOLE).mkdir()
    (volume / WHOLE / "planted").touch()
    os.chown(volume / WHOLE, 12345, 12345)
    with pytest.raises(ImageFault, match="is that of user 12345"):
        _unpack(_tar((_entry("file"), b"content")), volume)
    assert not (volume / "planted").exists()


def test_the_directory_of_a_new_filesystem_is_in_nobodys_way(volume: Path) -> None:
    (volume / "lost+found").mkdir()
    _unpack(_tar(_entry("lost+found", tarfile.DIRTYPE), _entry("lost+found/x"), _entry("file")), volume)
    assert sorted(each.name for each in volume.iterdir()) == ["file", "lost+found"]
    assert list((volume / "lost+found").iterdir()) == []


def test_a_full_volume_is_told(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: memoryview, start: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    assert _refused(_tar((_entry("file"), b"content")), volume).reason == "DiskFull"
