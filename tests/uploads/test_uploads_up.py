"""Uploads from end to end on one machine: a DataVolume, a token, and plain curl."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    DATA_VOLUMES,
    EVENTS,
    PODS,
    SECRETS,
    UPLOAD_SOURCES,
    UPLOAD_TOKEN_REQUESTS,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.kube.objects import condition
from uploads.curl import Answer, command, curl
from uploads.disks_to_send import MIB, a_disk, as_gzip, as_qcow2
from uploads.lab import Lab

SIZE = 64 * MIB


async def sent(lab: Lab, token: str, file: Path, *options: str, path: str = "/v1beta1/upload") -> Answer:
    url = await lab.url(path)
    return await asyncio.to_thread(curl, url, token, *options, "--upload-file", str(file), trust=lab.trust)


async def offset(lab: Lab, token: str) -> int:
    found = await asyncio.to_thread(curl, await lab.url(), token, "--head", trust=lab.trust)
    assert found.code == 200, found
    return int(found.headers["upload-offset"])


@pytest.mark.parametrize(
    ("packed", "said"),
    [(as_qcow2, ()), (as_gzip, ()), (as_gzip, ("--header", "Content-Encoding: gzip")), (None, ())],
)
async def test_plain_curl_fills_a_volume(lab: Lab, tmp_path: Path, packed, said: tuple[str, ...]) -> None:
    """B8: every byte is there, grown to the volume's size, and the volume is bound only then."""
    content = a_disk(tmp_path / "disk.raw")
    file = packed(tmp_path / "disk.raw") if packed else tmp_path / "disk.raw"
    await lab.volume("disk")
    claim = await lab.client.get(VOLUME_CLAIMS, "disk", lab.namespace)
    assert not claim["spec"].get("volumeName")
    answer = await sent(lab, await lab.token("disk"), file, *said)
    assert answer.code == 200, answer
    await lab.phase("disk", "Succeeded")
    found = (await lab.disk("disk")).read_bytes()
    assert len(found) == SIZE
    assert found == content + bytes(SIZE - len(content))
    assert [path.name for path in (await lab.disk("disk")).parent.iterdir()] == ["disk.img"]
    assert await gone(lab, "disk")


async def gone(lab: Lab, name: str) -> bool:
    """Whether prime, pod and Secret of an upload are no more."""
    uid = (await lab.client.get(VOLUME_CLAIMS, name, lab.namespace))["metadata"]["uid"]

    async def look() -> bool:
        claims = (await lab.client.list(VOLUME_CLAIMS, lab.namespace))["items"]
        secrets = (await lab.client.list(SECRETS, lab.namespace))["items"]
        return not any(uid in each["metadata"]["name"] for each in [*claims, *secrets])

    return await eventually(look)


async def test_the_requests_of_virtctl_are_answered(lab: Lab, tmp_path: Path) -> None:
    """B8: what `virtctl image-upload dv` waits for and sends, in its order: an annotation of the claim, HEAD for the
    async path, then POST of the file."""
    content = a_disk(tmp_path / "disk.raw")
    file = as_qcow2(tmp_path / "disk.raw")
    await lab.volume("disk")
    await eventually(lambda: told(lab, "disk", "cdi.kubevirt.io/storage.pod.ready", "true"))
    token = await lab.token("disk")
    url = await lab.url("/v1beta1/upload-async")
    head = await asyncio.to_thread(curl, url, token, "--head", trust=lab.trust)
    assert head.code == 200
    typed = ["--request", "POST", "--header", "Content-Type: application/octet-stream", "--header", "Expect:"]
    answer = await asyncio.to_thread(curl, url, token, *typed, "--upload-file", str(file), trust=lab.trust)
    assert answer.code == 200, answer
    await eventually(lambda: told(lab, "disk", "cdi.kubevirt.io/storage.pod.phase", "Succeeded"))
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def told(lab: Lab, claim: str, name: str, wanted: str) -> bool:
    """Whether an annotation of the claim says so."""
    found = await lab.client.get(VOLUME_CLAIMS, claim, lab.namespace)
    return bool(found["metadata"]["annotations"].get(name) == wanted)


async def test_a_browser_s_form_fills_a_volume(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    await lab.volume("disk")
    url = await lab.url("/v1beta1/upload-form-async")
    token = await lab.token("disk")
    form = ["--form", f"file=@{tmp_path / 'disk.raw'}"]
    answer = await asyncio.to_thread(curl, url, token, *form, trust=lab.trust)
    assert answer.code == 200, answer
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_a_token_opens_its_claim_until_that_is_filled_and_no_other(lab: Lab, tmp_path: Path) -> None:
    """B8: wrong, foreign and replayed tokens are refused, all with the same words."""
    a_disk(tmp_path / "disk.raw")
    file = tmp_path / "disk.raw"
    await lab.volume("disk")
    good = await lab.token("disk")
    said, _, signature = good.partition(".")
    refused = {
        (await sent(lab, token, file)).body
        for token in ("", "x", "x.y", f"{said}.A{signature}", f"{said}A.{signature}", "a" * 9000, good[::-1])
    }
    assert (await sent(lab, good, file)).code == 200
    again = await sent(lab, good, file)
    assert again.code == 401
    await lab.phase("disk", "Succeeded")
    again = await sent(lab, good, file)
    assert again.code == 401
    assert refused == {again.body}
    with pytest.raises(ApiError) as filled:
        await lab.token("disk")
    assert filled.value.code == 409
    await lab.client.delete(DATA_VOLUMES, "disk", lab.namespace)
    await eventually(lambda: missing(lab, "disk"))
    await lab.volume("disk")
    assert (await sent(lab, good, file)).code == 401, "a claim of the same name is another one"


async def missing(lab: Lab, name: str) -> bool:
    try:
        await lab.client.get(VOLUME_CLAIMS, name, lab.namespace)
    except ApiError as error:
        return error.code == 404
    return False


async def test_an_upload_survives_kill_9_of_everything_in_its_way(lab: Lab, tmp_path: Path) -> None:
    """B8: the endpoint, the pod's process and the machine's controllers are killed; the client goes on."""
    content = a_disk(tmp_path / "disk.raw", data=48 * MIB)
    file = tmp_path / "disk.raw"
    await lab.volume("disk")
    token = await lab.token("disk")
    url = await lab.url()
    running = await asyncio.to_thread(lab.status)
    pids = [int(running[part]["pid"]) for part in ("web", "machine")]  # type: ignore[index]
    slow = command(url, token, ["--cacert", str(lab.trust), "--limit-rate", "4M", "--upload-file", str(file)], tmp_path)
    client = await asyncio.create_subprocess_exec(*slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    await eventually(lambda: _more(lab, token, 12 * MIB))
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert await client.wait() != 0
    assert not list((await lab.pod("disk"))["metadata"].get("deletionTimestamp", ""))
    os.kill(_worker(lab), signal.SIGKILL)
    await eventually(lab.gives_tokens)
    token = await lab.token("disk")

    async def place() -> Answer | None:
        found = await asyncio.to_thread(curl, await lab.url(), token, "--head", trust=lab.trust)
        return found if found.code == 200 else None

    kept = (await eventually(place, 60)).headers["upload-offset"]
    assert int(kept) >= 4 * MIB
    answer = await sent(lab, token, file, "--continue-at", kept)
    assert answer.code == 200, answer
    await lab.phase("disk", "Succeeded")
    assert (await lab.disk("disk")).read_bytes() == content + bytes(SIZE - len(content))


async def _more(lab: Lab, token: str, than: int) -> bool:
    return await offset(lab, token) >= than


def _worker(lab: Lab) -> int:
    """The process that takes the upload, by its command line."""
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"upload" in words and b"worker" in words and str(lab.directory).encode() in b" ".join(words):
                if words[0].endswith(b"sh") or b"setpriv" in words[0]:
                    continue
                return int(place.name)
    raise AssertionError("no worker runs")


async def test_who_may_not_ask_for_a_token_gets_none(lab: Lab) -> None:
    """RBAC: create on uploadtokenrequests, in that namespace."""
    await lab.volume("disk")
    async with lab.user("edit") as editor:
        assert await lab.token("disk", editor)
    for role in ("view", ""):
        async with lab.user(role) as nobody:
            with pytest.raises(ApiError) as refused:
                await lab.token("disk", nobody)
            assert refused.value.code == 403


async def test_only_claims_that_wait_get_tokens(lab: Lab) -> None:
    with pytest.raises(ApiError) as absent:
        await lab.token("nothing")
    assert absent.value.code == 404
    size = {"requests": {"storage": "1Mi"}}
    plain = {"metadata": {"name": "plain", "namespace": lab.namespace}}
    await lab.client.create(VOLUME_CLAIMS, {**plain, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}})
    with pytest.raises(ApiError) as other:
        await lab.token("plain")
    assert other.value.code == 409
    assert "not filled by an upload" in other.value.message
    for spec, code in (({}, 422), ({"pvcName": ""}, 422), ({"pvcName": 1}, 422)):
        with pytest.raises(ApiError) as wrong:
            await lab.client.create(UPLOAD_TOKEN_REQUESTS, {"metadata": {"namespace": lab.namespace}, "spec": spec})
        assert wrong.value.code == code


async def test_what_is_no_disk_leaves_the_volume_waiting(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(os.urandom(SIZE + MIB))
    content = a_disk(tmp_path / "disk.raw")
    await lab.volume("disk")
    token = await lab.token("disk")
    answer = await sent(lab, token, tmp_path / "large")
    assert answer.code == 413, answer
    assert str(lab.directory) not in answer.body
    assert (await sent(lab, token, tmp_path / "disk.raw")).code == 200
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_why_an_upload_was_refused_is_told_by_the_volume(lab: Lab, tmp_path: Path) -> None:
    """Nothing is under way any more, and whoever looks at the volume sees why, and that it waits."""
    a_disk(tmp_path / "disk.raw")
    (tmp_path / "cut.qcow2").write_bytes(as_qcow2(tmp_path / "disk.raw").read_bytes()[: 5 * MIB])
    await lab.volume("disk")
    answer = await sent(lab, await lab.token("disk"), tmp_path / "cut.qcow2")
    assert answer.code == 400, answer

    async def told() -> Object | None:
        found = await lab.client.get(DATA_VOLUMES, "disk", lab.namespace)
        return found if (condition(found, "Running") or {}).get("reason") == "UploadRefused" else None

    volume = await eventually(told)
    running, status = condition(volume, "Running") or {}, volume["status"]
    assert running["message"].startswith("the last upload was refused: the upload: the file is cut off")
    assert running["message"].endswith("the volume waits for another one")
    assert (status["phase"], status["progress"]) == ("UploadReady", "N/A")
    assert "transfer" not in status

    async def warned() -> bool:
        fields = f"involvedObject.uid={uid_of(volume)},reason=UploadRefused,type=Warning"
        found = await lab.client.list(EVENTS, lab.namespace, field_selector=fields)
        return [each["message"] for each in found["items"]] == [running["message"]]

    await eventually(warned)
    assert (await sent(lab, await lab.token("disk"), tmp_path / "disk.raw")).code == 200
    await lab.phase("disk", "Succeeded")


async def test_a_claim_of_an_upload_source_is_filled_without_a_datavolume(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    name = {"metadata": {"name": "plain", "namespace": lab.namespace}}
    said = {"apiVersion": UPLOAD_SOURCES.api_version, "kind": UPLOAD_SOURCES.kind}
    await lab.client.create(UPLOAD_SOURCES, {**said, **name, "spec": {"contentType": "kubevirt"}})
    source = {"apiGroup": UPLOAD_SOURCES.group, "kind": UPLOAD_SOURCES.kind, "name": "plain"}
    size = {"requests": {"storage": "64Mi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size, "dataSourceRef": source}
    asked = {"annotations": {names.IMMEDIATE: "true"}, **name["metadata"]}
    await lab.client.create(VOLUME_CLAIMS, {"metadata": asked, "spec": spec})

    async def answered() -> bool:
        return (await sent(lab, await lab.token("plain"), tmp_path / "disk.raw")).code == 200

    await eventually(answered)
    assert (await lab.disk("plain")).read_bytes()[: len(content)] == content


async def test_the_claim_that_virtctl_makes_takes_the_upload_itself(lab: Lab, tmp_path: Path) -> None:
    """B8: `virtctl image-upload pvc`: an annotation in place of a source, and annotations that it waits for."""
    content = a_disk(tmp_path / "disk.raw")
    said = {names.UPLOAD_TARGET: "", names.CONTENT_TYPE: "kubevirt"}
    size = {"requests": {"storage": "64Mi"}}
    metadata = {"name": "plain", "namespace": lab.namespace, "annotations": said}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": size}
    await lab.client.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": spec})

    await eventually(lambda: told(lab, "plain", names.POD_READY, "true"))
    token = await lab.token("plain")
    assert (await sent(lab, token, as_qcow2(tmp_path / "disk.raw"))).code == 200
    await eventually(lambda: told(lab, "plain", names.POD_PHASE, "Succeeded"))
    assert (await lab.disk("plain")).read_bytes() == content + bytes(SIZE - len(content))
    assert (await sent(lab, token, tmp_path / "disk.raw")).code == 401
    assert await gone(lab, "plain")


async def test_a_claim_that_takes_an_upload_itself_can_be_deleted(lab: Lab) -> None:
    """B8: its pod has it mounted, and waits for bytes for ever."""
    metadata = {"name": "plain", "namespace": lab.namespace, "annotations": {names.UPLOAD_TARGET: ""}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    claim = await lab.client.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": spec})
    await eventually(lambda: told(lab, "plain", names.POD_READY, "true"))
    await lab.client.delete(VOLUME_CLAIMS, "plain", lab.namespace)

    async def nothing_left() -> bool:
        listed = [await lab.client.list(kind, lab.namespace) for kind in (VOLUME_CLAIMS, PODS, SECRETS)]
        return not any(uid_of(claim) in str(each["metadata"]) for found in listed for each in found["items"])

    await eventually(nothing_left)


async def test_status_tells_where_uploads_go(lab: Lab) -> None:
    url = await lab.url("")
    assert lab.status()["uploads"] == url


async def test_the_endpoint_keeps_its_address_when_it_is_started_again(lab: Lab) -> None:
    url = await lab.url("")
    first = lab.status()["web"]["pid"]  # type: ignore[index]
    os.kill(int(first), signal.SIGKILL)

    async def again() -> bool:
        found = await asyncio.to_thread(lab.status)
        return found.get("web", {}).get("pid", first) != first and found.get("uploads") == url  # type: ignore[attr-defined]

    assert await eventually(again)
    answer = await eventually(lambda: _healthy(lab))
    assert answer.code == 200


async def _healthy(lab: Lab) -> Answer | None:
    answer = await asyncio.to_thread(curl, await lab.url("/healthz"), "", trust=lab.trust)
    return answer if answer.code else None
