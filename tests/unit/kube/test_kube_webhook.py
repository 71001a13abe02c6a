import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import trustme

from ingot.api.object import Object
from ingot.api.status import ApiError, Cause, forbidden
from ingot.kube.certificate import ServingCertificate
from ingot.kube.kubeconfig import ConfigError
from ingot.kube.webhook import BODY_BYTES, AdmissionRequest, WebhookServer

VM: Object = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web"}, "spec": {"a": [1]}}


def admission(operation: str = "CREATE", obj: Object | None = VM, old: Object | None = None) -> Object:
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
            "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
            "name": "web",
            "namespace": "n",
            "operation": operation,
            "userInfo": {"username": "jane", "groups": ["dev"]},
            "object": obj,
            "oldObject": old,
            "dryRun": False,
            "options": None,
        },
    }


def conversion(*objects: Object, to: str = "kubevirt.io/v1") -> Object:
    request = {"uid": "u-2", "desiredAPIVersion": to, "objects": list(objects)}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


def issue(ca: trustme.CA, folder: Path, name: str = "127.0.0.1") -> tuple[Path, Path]:
    issued = ca.issue_cert(name, "localhost")
    issued.cert_chain_pems[0].write_to_path(str(folder / "tls.crt"))
    issued.private_key_pem.write_to_path(str(folder / "tls.key"))
    return folder / "tls.crt", folder / "tls.key"


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


class Caller:
    """What kube-apiserver is to a webhook."""

    def __init__(self, url: str, ca: trustme.CA) -> None:
        self.url = url
        self.tls = ssl.create_default_context()
        ca.configure_trust(self.tls)

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        async with aiohttp.ClientSession() as session, session.post(self.url + path, data=body, ssl=self.tls) as answer:
            return answer.status, await answer.read()

    async def ask(self, path: str, review: Object) -> Any:
        status, body = await self.post(path, msgspec.json.encode(review))
        assert status == 200, body
        answer = msgspec.json.decode(body)
        assert (answer["apiVersion"], answer["kind"]) == (review["apiVersion"], review["kind"])
        assert answer["response"]["uid"] == review["request"]["uid"]
        return answer["response"]


Serve = Callable[[WebhookServer], Any]


@pytest.fixture
def serve(tmp_path: Path, ca: trustme.CA) -> Any:
    @asynccontextmanager
    async def serving(register: Callable[[WebhookServer], None]) -> AsyncIterator[Caller]:
        server = WebhookServer(*issue(ca, tmp_path), host="127.0.0.1", port=0)
        register(server)
        task = asyncio.create_task(server.run())
        await server.ready.wait()
        try:
            yield Caller(f"https://127.0.0.1:{server.port}", ca)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return serving


async def test_admit_becomes_a_patch(serve: Any) -> None:
    seen = []

    def admit(obj: Object, old: Object | None, operation: str) -> Object:
        seen.append((obj["metadata"]["name"], old, operation))
        obj["spec"]["a"].append(2)
        return obj

    async with serve(lambda server: server.mutate("/m", admit)) as caller:
        response = await caller.ask("/m", admission(old=None))
        assert response["allowed"] is True
        assert response["patchType"] == "JSONPatch"
        patch = msgspec.json.decode(base64.b64decode(response["patch"]))
        assert patch == [{"op": "add", "path": "/spec/a/-", "value": 2}]
        assert seen == [("web", None, "CREATE")]


async def test_nothing_to_change_is_no_patch(serve: Any) -> None:
    async with serve(lambda server: server.mutate("/m", lambda obj, _old, _op: obj)) as caller:
        assert await caller.ask("/m", admission()) == {"uid": "u-1", "allowed": True}
        assert await caller.ask("/m", admission("DELETE", None, VM)) == {"uid": "u-1", "allowed": True}


async def test_every_fault_is_named_in_the_refusal(serve: Any) -> None:
    async def validate(obj: Object, old: Object | None) -> list[Cause]:
        assert old == {"was": 1}
        return [Cause("spec.a", "Required value", "FieldValueRequired"), Cause("spec.b", "bad")]

    async with serve(lambda server: server.validate("/v", validate)) as caller:
        response = await caller.ask("/v", admission("UPDATE", VM, {"was": 1}))
    assert response["allowed"] is False
    status = response["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == ('VirtualMachine.kubevirt.io "web" is invalid: [spec.a: Required value, spec.b: bad]')
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.a", "spec.b"]


async def test_no_fault_is_allowed(serve: Any) -> None:
    def validate(obj: Object, old: Object | None) -> list[Cause]:
        return [] if obj["spec"] else [Cause("spec", "Required value")]

    async with serve(lambda server: server.validate("/v", validate)) as caller:
        assert await caller.ask("/v", admission()) == {"uid": "u-1", "allowed": True}
        assert await caller.ask("/v", admission("DELETE", None, VM)) == {"uid": "u-1", "allowed": True}


async def test_a_review_knows_who_asks(serve: Any) -> None:
    async def review(request: AdmissionRequest) -> list[Object]:
        if request.operation == "DELETE" and request.user_info["username"] == "jane":
            raise forbidden("kubevirt.io", "virtualmachines", request.name, "not by jane")
        return []

    async with serve(lambda server: server.review("/r", review)) as caller:
        response = await caller.ask("/r", admission("DELETE", None, VM))
        assert (response["allowed"], response["status"]["code"]) == (False, 403)
        assert (await caller.ask("/r", admission()))["allowed"] is True


async def test_conversion(serve: Any) -> None:
    def convert(obj: Object, version: str) -> Object:
        if "bad" in obj:
            raise ApiError(422, "Invalid", "spec.bad: cannot be expressed")
        return obj | {"apiVersion": version, "converted": True}

    old, new = VM | {"apiVersion": "kubevirt.io/v1alpha1"}, VM
    async with serve(lambda server: server.convert("/c", convert)) as caller:
        response = await caller.ask("/c", conversion(old, new))
        assert response["result"] == {"status": "Success"}
        assert response["convertedObjects"] == [VM | {"converted": True}, VM]
        response = await caller.ask("/c", conversion(old, old | {"bad": 1}))
        assert response["result"]["status"] == "Failure"
        assert response["result"]["message"] == "spec.bad: cannot be expressed"
        assert response["convertedObjects"] == []


def without(review: Object, field: str) -> Object:
    return {**review, "request": {key: value for key, value in review["request"].items() if key != field}}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"a":' * 50_000,
        b'"' + b"\xed\xa0\x80" + b'"',
        msgspec.json.encode({**admission(), "apiVersion": "admission.k8s.io/v1beta1"}),
        msgspec.json.encode({**admission(), "kind": "Pod"}),
        msgspec.json.encode({**admission(), "request": None}),
        msgspec.json.encode(without(admission(), "uid")),
        msgspec.json.encode(without(admission(), "kind")),
        msgspec.json.encode(admission(obj=[1])),  # type: ignore[arg-type]
        msgspec.json.encode(conversion()),
    ],
    ids=range(14),
)
async def test_what_is_no_review_gets_400(serve: Any, body: bytes) -> None:
    def never(*_: object) -> Any:
        raise AssertionError("called with nonsense")

    async with serve(lambda server: server.validate("/v", never)) as caller:
        status, answer = await caller.post("/v", body)
    assert status == 400
    assert b"not a review that we understand" in answer


async def test_conversion_of_nonsense_gets_400(serve: Any) -> None:
    async with serve(lambda server: server.convert("/c", lambda obj, _: obj)) as caller:
        for body in (b"{}", msgspec.json.encode(admission()), msgspec.json.encode(conversion(1))):  # type: ignore[arg-type]
            assert (await caller.post("/c", body))[0] == 400


async def test_a_body_without_end_is_cut_off(serve: Any) -> None:
    async with serve(lambda server: server.validate("/v", lambda _obj, _old: [])) as caller:
        assert (await caller.post("/v", b" " * (BODY_BYTES + 1)))[0] == 413


async def test_a_function_that_fails_is_a_500(serve: Any) -> None:
    def broken(obj: Object, old: Object | None) -> list[Cause]:
        raise RuntimeError("a password may be in here")

    async with serve(lambda server: server.validate("/v", broken)) as caller:
        status, answer = await caller.post("/v", msgspec.json.encode(admission()))
    assert status == 500
    assert b"password" not in answer


async def test_it_tells_that_it_is_ready(serve: Any) -> None:
    async with (
        serve(lambda _: None) as caller,
        aiohttp.ClientSession() as session,
        session.get(f"{caller.url}/readyz", ssl=caller.tls) as answer,
    ):
        assert (answer.status, await answer.text()) == (200, "ok")


async def test_a_renewed_certificate_is_shown_at_the_next_handshake(serve: Any, tmp_path: Path, ca: trustme.CA) -> None:
    async with serve(lambda server: server.validate("/v", lambda _obj, _old: [])) as caller:
        await caller.ask("/v", admission())
        other = trustme.CA()
        (tmp_path / "tls.crt").write_bytes(b"half written")
        await caller.ask("/v", admission())
        issue(other, tmp_path)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await caller.ask("/v", admission())
        await Caller(caller.url, other).ask("/v", admission())
        await Caller(caller.url.replace("127.0.0.1", "localhost"), other).ask("/v", admission())


def test_a_missing_certificate_is_named(tmp_path: Path, ca: trustme.CA) -> None:
    with pytest.raises(ConfigError, match=r"tls\.crt: No such file"):
        ServingCertificate(tmp_path / "tls.crt", tmp_path / "tls.key")
    certificate, key = issue(ca, tmp_path)
    key.write_text("junk")
    with pytest.raises(ConfigError, match="no usable certificate and key"):
        ServingCertificate(certificate, key)
