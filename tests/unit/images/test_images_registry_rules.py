"""Addresses, redirects, waits, settings and proxies of the registry client."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.fault import ImageFault
from ingot.images.registry import settings as settings_module
from ingot.images.registry.address import Origin, check_redirect, netloc, public, split
from ingot.images.registry.proxy import proxy_for
from ingot.images.registry.retry import Absent, Backoff, Busy
from ingot.images.registry.settings import Settings, auth_files
from ingot.images.registry.transport import Request, Transport


def test_addresses() -> None:
    assert split("https://A.b/c?d=e#f", "x") == (Origin("https", "a.b", 443), "/c?d=e")
    assert split("http://[::1]:5000", "x") == (Origin("http", "::1", 5000), "/")
    assert netloc(Origin("http", "::1", 5000)) == "[::1]:5000"
    assert netloc(Origin("https", "a.b", 443)) == "a.b"


@pytest.mark.parametrize(
    "host", [f"{'a' * 64}.example", f"b.{'a' * 64}", "a..b", ".a", ".", "a..", "[fe80::1%" + "a" * 64]
)
def test_a_host_that_nobody_can_look_up_is_no_address(host: str) -> None:
    with pytest.raises(ImageFault) as caught:
        split(f"https://{host}/", "x")
    assert caught.value.reason == "BadAddress"


@pytest.mark.parametrize("host", ["a." * 40, f"{'a' * 63}.example", "example.", "[::ffff:127.0.0.1]"])
def test_a_host_that_somebody_may_have_is_one(host: str) -> None:
    assert split(f"https://{host}/", "x")[0].host == host.strip("[]")


@given(st.text(max_size=60) | st.text("htps:/[]@.%1", max_size=40).map(lambda rest: f"http://{rest}"))
def test_no_address_breaks_the_reader(text: str) -> None:
    try:
        origin, target = split(text, "x")
    except ImageFault:
        return
    assert origin.scheme in ("http", "https")
    assert target.startswith("/")


@pytest.mark.parametrize(
    "text", ["https://user:secret@a.b/c", "https://a.b/c?token=secret", "https://secret@a.b/c?secret#secret"]
)
def test_addresses_are_shown_without_secrets(text: str) -> None:
    assert public(text) == "https://a.b/c"


HTTPS, HTTP = Origin("https", "a.b", 443), Origin("http", "a.b", 80)
# Of this machine and its link, as resolvers take them.
SPELLINGS = ("127.1", "2130706433", "0x7f.1", "0xa9fea9fe", "0177.0.0.1", "::ffff:127.0.0.1", "0", "fe80::1%eth0")


@pytest.mark.parametrize(
    ("came", "to", "plain", "allowed"),
    [
        (HTTPS, Origin("https", "cdn.c", 443), False, True),
        (HTTPS, Origin("http", "cdn.c", 80), False, False),
        (HTTPS, Origin("http", "cdn.c", 80), True, True),
        (HTTP, Origin("http", "cdn.c", 80), False, True),
        (HTTPS, Origin("https", "127.0.0.1", 443), False, False),
        (HTTP, Origin("http", "localhost", 80), True, False),
        (HTTP, Origin("http", "169.254.169.254", 80), False, False),
        (HTTP, Origin("http", "::1", 80), False, False),
        (HTTP, Origin("http", "0.0.0.0", 80), False, False),  # noqa: S104
        *((HTTP, Origin("http", host, 80), False, False) for host in SPELLINGS),
        (Origin("http", "127.0.0.1", 1), Origin("http", "localhost", 2), True, True),
    ],
)
def test_where_a_server_may_send_us(came: Origin, to: Origin, plain: bool, allowed: bool) -> None:
    if allowed:
        check_redirect("x", came, to, plain)
        return
    with pytest.raises(ImageFault) as caught:
        check_redirect("x", came, to, plain)
    assert caught.value.reason == "BadRedirect"


def test_plain_http_is_for_loopback_and_for_those_named() -> None:
    transport = Transport(Settings(insecure=frozenset(("lab.example", "other.example:5000"))))
    for host, port, allowed in (
        ("127.0.0.1", 5000, True),
        ("localhost", 80, True),
        ("::1", 80, True),
        ("lab.example", 443, True),
        ("lab.example", 5000, True),
        ("other.example", 5000, True),
        ("other.example", 443, False),
        ("quay.io", 443, False),
    ):
        assert transport.plain_allowed(Origin("https", host, port)) is allowed


def test_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", waited.append)
    settings = Settings(tries=5, backoff=1.0, longest_wait=6.0)
    fault = ImageFault("x", "ConnectionLost", "lost", retry=True)
    backoff = Backoff(settings)
    for _ in range(4):
        backoff.wait(fault)
    with pytest.raises(ImageFault):
        backoff.wait(fault)
    assert all(most / 2 <= each <= most for each, most in zip(waited, (1, 2, 4, 6), strict=True))
    backoff.progress()
    backoff.wait(Busy("x", "busy", 5.0))
    assert waited[-1] == 5.0
    with pytest.raises(Busy):
        backoff.wait(Busy("x", "busy", 7.0))
    with pytest.raises(ImageFault):
        Backoff(settings).wait(ImageFault("x", "WrongDigest", "wrong"))


def test_a_server_that_never_answered_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", lambda seconds: None)
    absent = Absent(ImageFault("x", "Unreachable", "nothing listens there", retry=True))
    backoff = Backoff(Settings())
    backoff.wait(absent)
    with pytest.raises(Absent) as caught:
        backoff.wait(absent)
    assert caught.value.retry


def test_long_waits_are_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", lambda seconds: None)
    lost = ImageFault("x", "ConnectionLost", "lost", retry=True)
    backoff = Backoff(Settings())
    for _ in range(3):
        backoff.wait(lost)
    assert caplog.messages == []
    backoff.wait(Busy("x", "its server answers 503", 5.0))
    assert caplog.messages == ["x: its server answers 503; tried again in 5.0 s"]


def test_settings_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "named.json"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert Settings.load() == Settings()
    for name in ("docker/config.json", "containers/auth.json", "named.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "ingot").mkdir()
    (tmp_path / "ingot/registries.yaml").write_text(
        "ca: /etc/lab.pem\ninsecure: [lab:5000]\nmirrors: {docker.io: [mirror.example/hub]}\n"
    )
    found = Settings.load()
    assert (found.ca, found.insecure) == (Path("/etc/lab.pem"), frozenset(("lab:5000",)))
    assert found.mirrors == {"docker.io": ["mirror.example/hub"]}
    assert [path.name for path in found.auth_files] == ["named.json", "auth.json", "config.json"]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where podman keeps what a user without a session's directory tells it; the user has nothing else."""
    for name in ("REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "DOCKER_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(settings_module, "_SHARED", tmp_path / "run")
    place = tmp_path / "run" / str(os.getuid()) / "auth.json"
    place.parent.mkdir(parents=True)
    return place


def test_credentials_of_podman_without_a_session(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert auth_files() == []
    shared.write_text("{}")
    assert auth_files() == [shared]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared.parent))
    assert auth_files() == []


@pytest.mark.parametrize("link", [False, True])
def test_credentials_that_another_user_has_laid_there_are_left_alone(shared: Path, link: bool) -> None:
    if os.geteuid() != 0:
        pytest.skip("files of others need root")
    if link:
        shared.symlink_to(shared.with_name("other"))
        shared.with_name("other").write_text("{}")
    else:
        shared.write_text("{}")
    os.chown(shared, 65534, 65534, follow_symlinks=False)
    assert auth_files() == []


def test_the_example_of_the_docs_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = Path(__file__).parents[3] / "docs/images.md"
    (tmp_path / "ingot").mkdir()
    (tmp_path / "ingot/registries.yaml").write_text(docs.read_text().partition("```yaml\n")[2].partition("```")[0])
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert Settings.load().mirrors["docker.io"] == ["mirror.example/hub", "mirror.lab:5000"]


@pytest.mark.parametrize(
    "text",
    ["[]", "ca: 5", "mirror: {}", "a: [", "insecure: x", "insecure: [http://x]", "mirrors: {a.b: ['http://c.d']}"],
)
def test_settings_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ingot").mkdir()
    (tmp_path / "ingot/registries.yaml").write_text(text)
    with pytest.raises(ImageFault) as caught:
        Settings.load()
    assert caught.value.reason == "BadSettings"


def test_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://me:pass%40word@proxy.example:8080")
    monkeypatch.setenv("http_proxy", "proxy.example")
    monkeypatch.setenv("no_proxy", ".lan")
    found = proxy_for("https", "quay.io", 443)
    assert found
    assert (found.host, found.port) == ("proxy.example", 8080)
    assert found.headers == {"Proxy-Authorization": "Basic bWU6cGFzc0B3b3Jk"}
    plain = proxy_for("http", "quay.io", 80)
    assert plain
    assert (plain.port, plain.headers) == (3128, {})
    for here in ("localhost", "127.0.0.1", "::1"):
        assert proxy_for("https", here, 5000) is None
    assert proxy_for("https", "registry.lan", 443) is None
    monkeypatch.setenv("https_proxy", "socks5://proxy.example")
    with pytest.raises(ImageFault) as caught:
        proxy_for("https", "quay.io", 443)
    assert caught.value.reason == "BadProxy"


def test_requests_do_not_show_their_secrets() -> None:
    request = Request("GET", "https://a.b/", "x", authorization="Bearer secret", body=b"secret")
    assert "secret" not in repr(replace(request, method="PUT"))
