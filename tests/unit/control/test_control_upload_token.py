"""Upload tokens: good for one claim and a short time, and for nothing else (B8)."""

import asyncio
import base64
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ingot.api.cdi.filling import is_waiting
from ingot.api.object import Object
from ingot.control.uploads.credentials import credentials_of, new_data
from ingot.control.uploads.key import SigningKey
from ingot.control.uploads.target import is_target, pod_name
from ingot.control.uploads.token import LIFETIME_SECONDS, MOST_CHARACTERS, Grant, issue, read
from ingot.kube.client import Client

KEY = b"k" * 32
NOW = 1_700_000_000.0
CLAIM: Object = {"metadata": {"namespace": "lab", "name": "disk", "uid": "6f1c"}, "spec": {}}


def test_a_token_says_which_claim_and_until_when() -> None:
    assert read(KEY, issue(KEY, CLAIM, NOW), NOW) == Grant("lab", "disk", "6f1c", int(NOW) + LIFETIME_SECONDS)


def test_a_token_expires() -> None:
    token = issue(KEY, CLAIM, NOW)
    assert read(KEY, token, NOW + LIFETIME_SECONDS - 1) is not None
    assert read(KEY, token, NOW + LIFETIME_SECONDS) is None


def test_a_token_of_another_key_is_none() -> None:
    assert read(KEY, issue(b"x" * 32, CLAIM, NOW), NOW) is None


def test_a_token_that_was_changed_anywhere_is_none() -> None:
    token = issue(KEY, CLAIM, NOW)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    said, _, signature = token.partition(".")
    for index in range(len(said)):
        for other in letters:
            if other != said[index]:
                assert read(KEY, f"{said[:index]}{other}{said[index + 1 :]}.{signature}", NOW) is None
    assert read(KEY, f"{said}.{signature[:-4]}", NOW) is None


def test_a_token_for_another_claim_cannot_be_made_of_one() -> None:
    said, _, signature = issue(KEY, CLAIM, NOW).partition(".")
    content = base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)).replace(b"disk", b"risk")
    forged = base64.urlsafe_b64encode(content).rstrip(b"=").decode()
    assert read(KEY, f"{forged}.{signature}", NOW) is None


@pytest.mark.parametrize("token", ["", ".", "a.b.c", "ü.ü", "a" * MOST_CHARACTERS + ".b", "AAAA.AAAA\n", "=.="])
def test_what_is_no_token_is_none(token: str) -> None:
    assert read(KEY, token, NOW) is None


@given(some.text(max_size=200))
def test_no_text_makes_it_fail(text: str) -> None:
    assert read(KEY, text, NOW) is None


def test_the_pod_is_known_by_its_certificate_and_word() -> None:
    data = new_data("cdi-upload-prime-6f1c")
    found = credentials_of({"data": data})
    assert found == credentials_of({"data": data})
    assert found != credentials_of({"data": new_data("cdi-upload-prime-6f1c")})
    assert len(found.fingerprint) == 32
    with pytest.raises(ValueError, match="word is empty"):
        credentials_of({"data": {**data, "word": ""}})


def a_target(**changes: Object) -> Object:
    source = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeUploadSource", "name": "up"}
    return {"metadata": {}, "spec": {"dataSourceRef": source}, **changes}


def test_only_claims_of_upload_sources_are_targets() -> None:
    assert is_target(a_target())
    other = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeImportSource", "name": "up"}
    assert not is_target({"metadata": {}, "spec": {"dataSourceRef": other}})
    assert not is_target({"metadata": {}, "spec": {}})


def test_a_claim_with_the_annotation_takes_the_upload_itself_though_it_is_bound() -> None:
    said = {"uid": "6f1c", "annotations": {"cdi.kubevirt.io/storage.upload.target": ""}}
    claim: Object = {"metadata": said, "spec": {"volumeName": "pv"}}
    assert is_target(claim)
    assert is_waiting(claim)
    assert pod_name(claim) == "cdi-upload-6f1c"
    populated = a_target(metadata=said)
    assert pod_name(populated) == "cdi-upload-prime-6f1c"
    said["annotations"]["cdi.kubevirt.io/storage.pod.phase"] = "Succeeded"
    assert not is_waiting(claim)


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"volumeName": "pv"}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"metadata": {"annotations": {"cdi.kubevirt.io/storage.pod.phase": "Succeeded"}}},
        {"metadata": {"annotations": {"ingot.io/failure": "{}"}}},
    ],
)
def test_a_claim_that_is_filled_or_over_waits_no_more(changes: Object) -> None:
    assert is_waiting(a_target())
    assert not is_waiting(a_target(**changes))


class Slow:
    """A client that answers with the key, once others have had their turn."""

    def __init__(self) -> None:
        self.asked = 0

    async def get(self, *_: Any) -> Object:
        self.asked += 1
        await asyncio.sleep(0)
        return {"data": {"key": base64.b64encode(KEY).decode()}}


async def test_the_key_is_asked_for_once_however_many_want_it() -> None:
    """Whoever sends words that are no token could have it asked for without end while the API is slow."""
    client = Slow()
    key = SigningKey(cast("Client", client))
    assert set(await asyncio.gather(*(key.get() for _ in range(100)))) == {KEY}
    assert client.asked == 1
