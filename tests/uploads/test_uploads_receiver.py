"""What a receiver answers where half of an upload could pass for all of it, or one upload for another."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from eventual import eventually
from ingot.images.fault import ImageFault
from ingot.images.pipeline.arrival import Arrival
from uploads.pod import MIB, SIZE, Pod, is_so


@pytest.fixture
def former(tmp_path: Path) -> bytes:
    """A disk that the volume has before."""
    (tmp_path / "disk.img").write_bytes(b"former")
    return b"former"


async def test_a_body_that_ends_too_early_is_cut_and_goes_on(pod: Pod) -> None:
    """B8: the length was told with the first part, and the second one has none."""
    content = b"".join(bytes([each]) * MIB for each in range(1, 5))
    await pod.cut(content[:MIB], Content_Length=str(len(content)))
    code, said = await pod.put(content[MIB : 2 * MIB], Upload_Offset=str(MIB))
    assert (code, said) == (408, f"the body has ended at byte {2 * MIB} of {4 * MIB}\n")
    assert await pod.head() == {"Upload-Offset": str(2 * MIB), "Upload-Length": str(4 * MIB)}
    assert pod.disk is None
    code, said = await pod.put(content[2 * MIB :], Upload_Offset=str(2 * MIB))
    assert (code, said) == (200, "")
    assert pod.disk == content + bytes(SIZE - len(content))


async def test_a_length_that_is_told_late_counts_too(pod: Pod) -> None:
    await pod.cut(b"a" * MIB)
    last = f"bytes {MIB}-{4 * MIB - 1}/{4 * MIB}"
    code, said = await pod.put(b"b" * MIB, Content_Range=last)
    assert (code, said) == (408, f"the body has ended at byte {2 * MIB} of {4 * MIB}\n")
    assert pod.disk is None
    assert (await pod.head())["Upload-Offset"] == str(2 * MIB)


async def test_more_bytes_than_the_upload_has_are_refused(pod: Pod) -> None:
    await pod.cut(b"a" * MIB, Content_Length=str(2 * MIB))
    code, said = await pod.put(b"b" * 2 * MIB, Upload_Offset=str(MIB))
    assert (code, said) == (400, f"more bytes have come than the {2 * MIB} that the upload has\n")
    assert pod.disk is None


async def test_another_file_does_not_go_on(pod: Pod) -> None:
    """B8: it is told by what the client calls it, where both uploads say that."""
    await pod.cut(b"a" * MIB, Content_Length=str(2 * MIB), Upload_Identity="one")
    place = {"Upload-Offset": str(MIB), "Upload-Length": str(2 * MIB), "Upload-Identity": "one"}
    assert await pod.head() == place
    rest = {"Content_Range": f"bytes {MIB}-{2 * MIB - 1}/{2 * MIB}"}
    code, said = await pod.put(b"b" * MIB, **rest, Upload_Identity="two")
    assert (code, "of another file (Upload-Identity one)" in said) == (409, True)
    assert await pod.head() == place
    assert (await pod.put(b"a" * MIB, **rest, Upload_Identity="one"))[0] == 200
    assert pod.disk == b"a" * 2 * MIB + bytes(SIZE - 2 * MIB)


@pytest.mark.parametrize("said", [({"Upload_Identity": "one"}, {}), ({}, {"Upload_Identity": "one"}), ({}, {})])
async def test_who_does_not_say_which_file_goes_on_as_ever(pod: Pod, said: tuple[dict[str, str], ...]) -> None:
    await pod.cut(b"a" * MIB, Content_Length=str(2 * MIB), **said[0])
    rest = {"Content_Range": f"bytes {MIB}-{2 * MIB - 1}/{2 * MIB}"}
    assert (await pod.put(b"a" * MIB, **rest, **said[1]))[0] == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, 409),
        ({"Content_Range": f"bytes {MIB - 1}-{MIB - 1}/{MIB}"}, 409),
        ({"Content_Range": f"bytes {MIB}-{MIB - 1}/{MIB}", "Upload_Identity": "two"}, 409),
        ({"Content_Range": f"bytes {MIB}-{MIB - 1}/{MIB}", "Upload_Identity": "one"}, 200),
    ],
)
async def test_who_comes_while_another_upload_is_synced_is_not_told_that_his_was_taken(
    tmp_path: Path, headers: dict[str, str], code: int
) -> None:
    """B8: the client of the first is gone, with its last byte sent: only who goes on with that one has filled it."""
    read, synced = threading.Event(), threading.Event()

    def fill(arrival: Arrival, _identity: str) -> int:
        with arrival.stream() as stream:
            while stream.readinto(memoryview(bytearray(MIB))):
                pass
        read.set()
        assert synced.wait(20)
        return SIZE

    pod = Pod(fill, tmp_path)
    async with pod.open():
        pod.upload.begin(MIB, "one")
        await eventually(lambda: is_so(pod.upload.settled))
        assert pod.upload.bring(0, b"a" * MIB)
        assert await asyncio.to_thread(read.wait, 20)
        second = asyncio.create_task(pod.put(*([] if headers else [b"b" * MIB]), **headers))
        await eventually(lambda: is_so(not pod.receiver._idle.is_set() or second.done()))
        synced.set()
        answered, said = await second
        assert answered == code, said
        await eventually(lambda: is_so(pod.upload.complete))


async def test_a_refusal_does_not_call_a_volume_empty_that_is_not(pod: Pod, former: bytes) -> None:
    """A claim that takes its upload itself may have a disk already."""
    code, said = await pod.put(b"QFI\xfb\0\0\0\3" + bytes(2000))
    assert code == 400
    assert said.endswith("; the volume does not have this disk, and waits for another upload\n")
    assert pod.disk == former


async def test_clients_that_go_while_an_upload_begins_leave_one_import(tmp_path: Path) -> None:
    """B8: two at once would write to one disk, and the one that nobody brings bytes to would never end."""
    running, most, may_end = 0, 0, threading.Event()

    def fill(arrival: Arrival, _identity: str) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            with arrival.stream() as stream:
                while stream.readinto(memoryview(bytearray(MIB))):
                    pass
        except ImageFault:
            assert may_end.wait(20)
            raise
        finally:
            running -= 1
        return SIZE

    pod = Pod(fill, tmp_path)
    async with pod.open():
        await pod.cut(b"a" * MIB, Content_Length=str(2 * MIB))
        gone = asyncio.create_task(pod.send(b"b"))
        await eventually(lambda: is_so(not pod.receiver._idle.is_set()))
        gone.cancel()
        await eventually(lambda: is_so(not pod.has_clients))
        code, said = await pod.send(b"c" * MIB)
        assert (code, said) == (503, "another upload to the volume is under way: try again when it has ended\n")
        may_end.set()
        await eventually(lambda: is_so(pod.receiver._idle.is_set()))
        assert (await pod.send(b"d" * MIB))[0] == 200
    assert most == 1
