"""Secrets and sources of workers."""

from pathlib import Path
from typing import Any

import pytest
import trustme

from ingot.api.cdi.names import PLAIN_HEADERS
from ingot.cli.worker import secrets
from ingot.cli.worker.origin import Origin
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind


def _mounted(directory: Path, **values: str) -> Path:
    """As the kubelet mounts a Secret: by way of a hidden directory."""
    hidden = directory / "..2026_11_16"
    hidden.mkdir(parents=True)
    (directory / "..data").symlink_to(hidden.name)
    for name, value in values.items():
        (hidden / name).write_text(value)
        (directory / name).symlink_to(f"..data/{name}")
    return directory


def _origin(kind: str, url: str = "", **other: Any) -> Origin:
    usual: dict[str, Any] = {
        "checksum": "",
        "architecture": "",
        "secret": None,
        "certs": None,
        "certs_name": "",
        "header_files": (),
        "insecure": False,
    }
    return Origin(kind, url, **{**usual, **other})


def test_user_and_password_for_a_web_server(tmp_path: Path) -> None:
    """The end of the line that editors leave is no part of a password."""
    secret = _mounted(tmp_path / "secret", accessKeyId="user", secretKey="pass word\n")
    origin = _origin("http", "https://host/disk.img", secret=secret)
    options = origin.options(origin.source(0))
    assert options.authorization == "Basic dXNlcjpwYXNzIHdvcmQ="
    assert "dXNlcjpwYXNzIHdvcmQ=" not in repr(options)


def test_user_and_password_are_for_the_registry_of_the_image_only(tmp_path: Path) -> None:
    secret = _mounted(tmp_path / "secret", accessKeyId="user", secretKey="SECRET")
    origin = _origin("registry", "docker://registry.example:5000/disks/debian:12", secret=secret)
    settings = origin.options(origin.source(0)).settings
    assert settings is not None
    assert list(settings.logins) == ["registry.example:5000"]
    assert (settings.logins["registry.example:5000"].user, settings.auth_files) == ("user", ())
    assert "SECRET" not in repr(settings)


def test_a_pull_secret_will_do_for_a_registry(tmp_path: Path) -> None:
    secret = _mounted(tmp_path / "secret", **{".dockerconfigjson": "{}"})
    origin = _origin("registry", "docker://registry.example/debian", secret=secret)
    settings = origin.options(origin.source(0)).settings
    assert settings is not None
    assert settings.auth_files == (secret / ".dockerconfigjson",)


def test_the_logins_of_the_machines_users_are_nobody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "auth.json").write_text("{}")
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    origin = _origin("registry", "docker://registry.example/debian")
    settings = origin.options(origin.source(0)).settings
    assert settings is not None
    assert settings.auth_files == ()


def test_keys_and_certificates(tmp_path: Path) -> None:
    secret = _mounted(tmp_path / "secret", accessKeyId="user", secretKey="SECRET", **{"tls.crt": "c", "tls.key": "k"})
    origin = _origin("s3", "s3://bucket/disk.img", secret=secret)
    keys = origin.options(origin.source(0)).keys
    assert keys is not None
    assert (keys.access, keys.secret) == ("user", "SECRET")
    assert "SECRET" not in repr(keys)
    certs = _mounted(tmp_path / "certs", **{"ca.pem": trustme.CA().cert_pem.bytes().decode()})
    nbds = _origin("nbd", "nbds://host/disk", secret=secret, certs=certs)
    tls = nbds.options(nbds.source(0)).tls
    assert tls is not None
    assert (tls.authority, tls.certificate, tls.key) == (certs, secret / "tls.crt", secret / "tls.key")


def test_headers_come_from_files(tmp_path: Path) -> None:
    plain = tmp_path / "headers"
    plain.write_text("X-One: 1\n\nX-Two:two words\n")
    secret = _mounted(tmp_path / "secret", first="Authorization: Bearer SECRET\n", second="X-Three: 3")
    origin = _origin("http", "https://host/disk.img", header_files=(plain, secret))
    options = origin.options(origin.source(0))
    assert options.headers == {
        "X-One": "1",
        "X-Two": "two words",
        "Authorization": "Bearer SECRET",
        "X-Three": "3",
    }
    assert "SECRET" not in repr(options)


def test_headers_of_one_name_are_all_sent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("Cookie: a=1\nX.Tenant: 1\ncookie: b=2\nx.tenant: 2\n")
    assert secrets.headers((tmp_path,)) == {"Cookie": "a=1; b=2", "X.Tenant": "1, 2"}


@pytest.mark.parametrize(
    ("directory", "name", "shown"),
    [(PLAIN_HEADERS, "1", "extraHeaders[1]: "), ("0", "token", "the Secret's token: ")],
)
def test_where_it_is_that_is_no_header_is_told(tmp_path: Path, directory: str, name: str, shown: str) -> None:
    with pytest.raises(ImageFault) as caught:
        secrets.headers((_mounted(tmp_path / directory, **{name: "SECRET"}),))
    assert shown in str(caught.value)


@pytest.mark.parametrize(
    "line", ["SECRET", "SECRET value: x", "X-One: SECRET\0", "Range: SECRET", ": SECRET", "Ä: SECRET"]
)
def test_what_is_no_header_is_refused_and_not_told(tmp_path: Path, line: str) -> None:
    (tmp_path / "token").write_text(line)
    with pytest.raises(ImageFault) as caught:
        secrets.headers((tmp_path,))
    assert caught.value.reason == "BadHeader"
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("kind", ["http", "registry", "s3", "nbd"])
def test_a_secret_without_what_it_takes_is_named(tmp_path: Path, kind: str) -> None:
    url = {"http": "https://host/x", "registry": "docker://host/x", "s3": "s3://bucket/x", "nbd": "nbds://host/x"}[kind]
    origin = _origin(kind, url, secret=_mounted(tmp_path / "secret", other="x"))
    with pytest.raises(ImageFault, match="the Secret has no") as caught:
        origin.options(origin.source(0))
    assert caught.value.reason == "BadSecret"


@pytest.mark.parametrize(
    ("kind", "url", "reason"),
    [
        ("gcs", "gs://bucket/disk", "Unsupported"),
        ("imageio", "https://engine", "Unsupported"),
        ("vddk", "https://vcenter", "Unsupported"),
        ("registry", "oci-archive:///disk.tar", "Unsupported"),
        ("http", "docker://registry.example/disk", "BadSource"),
        ("http", "/etc/passwd", "BadSource"),
        ("http", "-", "BadSource"),
        ("registry", "file:///etc/passwd", "BadSource"),
        ("nbd", "", "BadSource"),
        ("nbd", "nbd+unix:///?socket=/run/nbd", "BadSource"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(kind: str, url: str, reason: str) -> None:
    """No file of the node can be named."""
    with pytest.raises(ImageFault) as caught:
        _origin(kind, url).source(0)
    assert (caught.value.reason, caught.value.retry) == (reason, False)


def test_a_blank_disk_has_the_size_of_the_volume() -> None:
    source = _origin("blank").source(1 << 20)
    assert (source.kind, source.place) == (Kind.BLANK, "1048576")


def test_an_image_for_another_machine() -> None:
    origin = _origin("registry", "docker://registry.example/debian", architecture="arm64")
    assert str(origin.options(origin.source(0)).platform) == "linux/arm64"


def test_insecure_skips_the_proof_and_lets_a_registry_be_without_tls() -> None:
    origin = _origin("registry", "docker://registry.example:5000/debian", insecure=True)
    settings = origin.options(origin.source(0)).settings
    assert settings is not None
    assert (settings.verify, "registry.example:5000" in settings.insecure) == (False, True)
