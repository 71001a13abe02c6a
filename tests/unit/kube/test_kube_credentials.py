import os
import ssl
from pathlib import Path

import pytest
import trustme

from ingot.kube.credentials import Credentials
from ingot.kube.kubeconfig import Config, ConfigError, Material

SERVER = "https://127.0.0.1:1"


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


def test_a_token_is_a_bearer() -> None:
    credentials = Credentials(Config(SERVER, token=Material(b" abc\n")))
    assert credentials.headers() == {"Authorization": "Bearer abc"}


def test_a_password_is_basic() -> None:
    credentials = Credentials(Config(SERVER, username="me", password="pä"))  # noqa: S106
    assert credentials.headers() == {"Authorization": "Basic bWU6cMOk"}


def test_a_renewed_token_is_used_at_once(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    credentials = Credentials(Config(SERVER, token=Material(file=token)))
    assert credentials.headers() == {"Authorization": "Bearer first"}
    replaced = tmp_path / "new"
    replaced.write_text("other")
    replaced.replace(token)
    assert credentials.headers() == {"Authorization": "Bearer other"}


def test_a_symlink_swap_is_noticed(tmp_path: Path) -> None:
    """The kubelet renews a projected volume by turning ..data to another directory."""
    for version in ("v1", "v2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "token").write_text(version)
    (tmp_path / "..data").symlink_to("v1")
    credentials = Credentials(Config(SERVER, token=Material(file=tmp_path / "..data" / "token")))
    assert credentials.headers() == {"Authorization": "Bearer v1"}
    (tmp_path / "..tmp").symlink_to("v2")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    assert credentials.headers() == {"Authorization": "Bearer v2"}


@pytest.mark.parametrize("broken", [None, b"", b"two\nlines"])
def test_a_token_in_the_middle_of_its_renewal_keeps_the_old_one(tmp_path: Path, broken: bytes | None) -> None:
    token = tmp_path / "token"
    token.write_text("good")
    credentials = Credentials(Config(SERVER, token=Material(file=token)))
    credentials.headers()
    token.unlink() if broken is None else token.write_bytes(broken)
    assert credentials.headers() == {"Authorization": "Bearer good"}


def test_a_token_that_was_never_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        Credentials(Config(SERVER, token=Material(file=tmp_path / "none"))).headers()
    with pytest.raises(ConfigError, match="is empty or not a token"):
        Credentials(Config(SERVER, token=Material(b"\n"))).headers()


def test_the_context_lasts_until_the_ca_is_replaced(tmp_path: Path, ca: trustme.CA) -> None:
    file = tmp_path / "ca.crt"
    ca.cert_pem.write_to_path(str(file))
    credentials = Credentials(Config(SERVER, ca=Material(file=file)))
    first = credentials.tls()
    assert credentials.tls() is first
    file.write_bytes(b"half")
    assert credentials.tls() is first
    other = trustme.CA()
    other.cert_pem.write_to_path(str(file))
    second = credentials.tls()
    assert isinstance(second, ssl.SSLContext)
    assert second is not first
    assert len(second.get_ca_certs()) == 1


def test_inline_client_certificates_leave_no_file(
    tmp_path: Path, ca: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    issued = ca.issue_cert("me")
    certificate = Material(issued.cert_chain_pems[0].bytes())
    key = Material(issued.private_key_pem.bytes())
    config = Config(SERVER, ca=Material(ca.cert_pem.bytes()), certificate=certificate, key=key)
    assert isinstance(Credentials(config).tls(), ssl.SSLContext)
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_unusable_tls_material_is_named(tmp_path: Path, ca: trustme.CA) -> None:
    certificate = Material(ca.issue_cert("me").cert_chain_pems[0].bytes())
    with pytest.raises(ConfigError, match="certificate-authority: no usable certificate"):
        Credentials(Config(SERVER, ca=Material(b"junk"))).tls()
    with pytest.raises(ConfigError, match="has no client-key"):
        Credentials(Config(SERVER, certificate=certificate)).tls()
    other = Material(ca.issue_cert("you").private_key_pem.bytes())
    with pytest.raises(ConfigError, match="client-certificate: unusable pair"):
        Credentials(Config(SERVER, certificate=certificate, key=other)).tls()


def test_insecure_trusts_anyone_and_plain_http_needs_no_tls() -> None:
    context = Credentials(Config(SERVER, insecure=True)).tls()
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode == ssl.CERT_NONE
    assert Credentials(Config("http://127.0.0.1")).tls() is True
