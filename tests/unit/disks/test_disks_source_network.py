"""Network sources: each protocol's own form and its address lead to the same endpoint; credentials and certificates."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import trustme
from disks_objects import Objects, config_map, place, secret

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.endpoint import Credentials, Format, Network
from ingot.disks.fault import DiskFault
from ingot.disks.resolve import resolve

KEY = b"a key of ceph's"


async def endpoint(source: dict[str, Any], *objects: dict[str, Any]) -> Network:
    found = await resolve({"name": "data", **source}, {}, place(Path("/nowhere")), Objects(*objects))  # type: ignore[arg-type]
    assert isinstance(found, Network)
    return found


async def refused(source: dict[str, Any], *objects: dict[str, Any]) -> DiskFault:
    with pytest.raises(DiskFault) as caught:
        await endpoint(source, *objects)
    assert caught.value.volume == "data"
    return caught.value


def address(uri: str, **more: Any) -> dict[str, Any]:
    return {"networkVolume": {"uri": uri, "format": "raw", **more}}


@pytest.mark.parametrize(
    ("own", "uri"),
    [
        ({"nbd": {"host": "127.0.0.1", "export": "Fedora/A b"}}, "nbd://127.0.0.1/Fedora/A%20b"),
        ({"nbd": {"host": "127.0.0.1", "port": 99, "tls": True}}, "nbds://127.0.0.1:99"),
        (
            {"iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2020-01.io:A", "lun": 2}},
            "iscsi://127.0.0.1/iqn.2020-01.io:A/2",
        ),
        (
            {"rbd": {"monitors": ["127.0.0.1", "127.0.0.2:3300"], "image": "i", "pool": "p"}},
            "rbd://127.0.0.1,127.0.0.2:3300/p/i",
        ),
        ({"gluster": {"host": "127.0.0.1", "volume": "v", "path": "/a/b"}}, "gluster://127.0.0.1/v/a/b"),
        ({"http": {"url": "http://127.0.0.1:8080/a/B.iso?x=1"}}, "http://127.0.0.1:8080/a/B.iso?x=1"),
        ({"http": {"url": "https://127.0.0.1/a"}}, "https://127.0.0.1/a"),
    ],
)
async def test_a_form_and_its_address_are_the_same_endpoint(own: dict[str, Any], uri: str) -> None:
    one, other = await endpoint(own), await endpoint(address(uri))
    assert one == other
    assert one.identities


async def test_the_format_is_what_was_told() -> None:
    found = await endpoint({"networkVolume": {"uri": "nbd://127.0.0.1/x", "format": "qcow2"}})
    assert found.format is Format.QCOW2


async def test_a_path_is_one_however_it_is_written() -> None:
    one, other = (
        await endpoint(address("gluster://127.0.0.1/v/a/b")),
        await endpoint(address("gluster://127.0.0.1/v/./a//b")),
    )
    assert one.identities == other.identities


async def test_a_bad_address_is_final() -> None:
    fault = await refused(address("nbd:///x"))
    assert fault.reason == "InvalidVolume"
    assert fault.retry is None
    assert "networkVolume.uri" in fault.message


@pytest.mark.parametrize(
    "keys",
    [
        {"node__session__auth__username": b"me", "node__session__auth__password": b"secret"},
        {"username": b"me\n", "password": b"secret\n"},
    ],
)
async def test_chap(keys: dict[str, bytes]) -> None:
    source = {"iscsi": {"targetPortal": "192.0.2.1:99", "iqn": "iqn.2020-01.a:b", "secretRef": {"name": "s"}}}
    source["iscsi"]["initiatorName"] = "iqn.2020-01.me:x"
    found = await endpoint(source, secret("s", **keys))
    assert found.credentials == Credentials("me", b"secret")
    assert found.hosts == (HostPort("192.0.2.1", 99),)
    assert found.initiator == "iqn.2020-01.me:x"
    assert "secret" not in repr(found.credentials).replace("secret=", "")


async def test_rbd_keys_are_bytes() -> None:
    encoded = base64.b64encode(KEY)
    source = {"rbd": {"monitors": ["127.0.0.1"], "image": "i", "user": "u", "secretRef": {"name": "s"}}}
    assert (await endpoint(source, secret("s", key=encoded + b"\n"))).credentials == Credentials("u", KEY)
    named = secret("s", userID=b"other", userKey=encoded)
    assert (await endpoint(source, named)).credentials == Credentials("other", KEY)
    by_address = address("rbd://127.0.0.1/rbd/i", secretRef={"name": "s"})
    assert (await endpoint(by_address, secret("s", key=encoded))).credentials == Credentials("admin", KEY)
    assert (await refused(source, secret("s", key=b"not base64"))).reason == "SecretInvalid"


async def test_basic_authentication() -> None:
    source = {"http": {"url": "http://127.0.0.1/a", "secretRef": {"name": "s"}}}
    assert (await endpoint(source, secret("s", username=b"u", password=b"p"))).credentials == Credentials("u", b"p")
    assert (await endpoint(source, secret("s", accessKeyId=b"u", secretKey=b"p"))).credentials == Credentials("u", b"p")


async def test_certificates() -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("client.example")
    pem = authority.cert_pem.bytes().decode()
    certificate, key = issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes()
    source = {"nbd": {"host": "127.0.0.1", "tls": True, "secretRef": {"name": "s"}, "certConfigMap": {"name": "c"}}}
    found = await endpoint(source, secret("s", tls__crt=certificate, tls__key=key), config_map("c", anything=pem))
    assert found.tls is not None
    assert found.tls.authority.strip() == pem.strip()
    assert found.tls.key.strip() == key.decode().strip()
    assert "PRIVATE" not in repr(found)
    stranger = authority.issue_cert("other.example").private_key_pem.bytes()
    fault = await refused(source, secret("s", tls__crt=certificate, tls__key=stranger), config_map("c", ca=pem))
    assert fault.reason == "SecretInvalid"
    assert "tls.key" in fault.message
    fault = await refused(source, secret("s", tls__crt=certificate), config_map("c", ca=pem))
    assert "both of tls.crt and tls.key" in fault.message


@pytest.mark.parametrize("text", ["nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
async def test_bad_certificates(text: str) -> None:
    source = address("https://127.0.0.1/a", certConfigMap={"name": "c"})
    fault = await refused(source, config_map("c", ca=text))
    assert fault.reason == "CertificatesInvalid"
    assert "'c'" in fault.message
    assert "PEM" in fault.message


@pytest.mark.parametrize(
    ("uri", "attribute"),
    [
        ("nbd://127.0.0.1/x", "secretRef"),
        ("nbd://127.0.0.1/x", "certConfigMap"),
        ("gluster://127.0.0.1/v/p", "secretRef"),
        ("iscsi://127.0.0.1/iqn.2020-01.a:b", "certConfigMap"),
        ("rbd://127.0.0.1/p/i", "certConfigMap"),
        ("http://127.0.0.1/a", "certConfigMap"),
    ],
)
async def test_what_a_protocol_has_no_use_for_is_refused(uri: str, attribute: str) -> None:
    fault = await refused(address(uri, **{attribute: {"name": "x"}}), secret("x", a=b"b"), config_map("x", a="b"))
    assert fault.reason == "InvalidVolume"
    assert attribute in fault.message


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"nbd": {"host": "127.0.0.1", "tls": True, "secretRef": {"name": "s"}}}, "tls.crt"),
        ({"iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2020-01.a:b", "secretRef": {"name": "s"}}}, "username"),
        ({"rbd": {"monitors": ["127.0.0.1"], "image": "i", "secretRef": {"name": "s"}}}, "`key`"),
        ({"http": {"url": "http://127.0.0.1/a", "secretRef": {"name": "s"}}}, "accessKeyId"),
    ],
)
async def test_secrets_that_are_missing_or_lack_keys(source: dict[str, Any], told: str) -> None:
    missing = await refused(source)
    assert missing.reason == "SecretNotFound"
    assert "'s'" in missing.message
    assert "tried again in 10 s" in missing.message
    empty = await refused(source, secret("s", other=b"hidden value"))
    assert empty.reason == "SecretInvalid"
    assert told in empty.message
    assert "hidden value" not in empty.message


async def test_mutual_chap_is_refused_rather_than_left_out() -> None:
    source = {"iscsi": {"targetPortal": "127.0.0.1", "iqn": "iqn.2020-01.a:b", "secretRef": {"name": "s"}}}
    fault = await refused(source, secret("s", username=b"a", password=b"b", node__session__auth__username_in=b"c"))
    assert "mutual CHAP" in fault.message


async def test_a_source_nobody_knows() -> None:
    fault = await refused({"teleport": {}})
    assert fault.reason == "SourceUnsupported"
    assert "teleport" in fault.message
    assert "networkVolume" in fault.message
