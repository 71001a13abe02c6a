"""Where a registry answers: with TLS, and without only where it is allowed and a server has shown that it has none."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry import endpoint
from ingot.images.registry.auth import Auth
from ingot.images.registry.endpoint import Endpoint
from ingot.images.registry.repository import Repository
from ingot.images.registry.retry import Busy
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Request, Transport

HOST = "lab.example"
TLS, PLAIN = f"https://{HOST}/v2/", f"http://{HOST}/v2/"
LOST = ImageFault("x", "ConnectionLost", "lost", retry=True)
UNREACHABLE = ImageFault("x", "Unreachable", "nothing listens there", retry=True)
UNTRUSTED = ImageFault("x", "BadCertificate", "not trusted")
BUSY = Busy("x", "its server answers 503", 0.0)
# What is answered: a status, where from, or a fault.
Answer = int | str | ImageFault
Base = Callable[..., str]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Base:
    """The base of a registry that gives these answers, each in its turn, and the last one for ever."""
    monkeypatch.setattr(endpoint, "answers_plainly", lambda *_: False)
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", lambda seconds: None)

    def found(tls: list[Answer], plain: list[Answer] = [LOST], host: str = HOST) -> str:  # noqa: B006
        left = {"https": list(tls), "http": list(plain)}

        def once(request: Request) -> Any:
            answers = left[request.url.partition(":")[0]]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, ImageFault):
                raise answer
            status, url = (answer, request.url) if isinstance(answer, int) else (200, answer)
            return SimpleNamespace(status=status, url=url, discard=lambda: None)

        transport = SimpleNamespace(settings=Settings(), plain_allowed=lambda origin: True, once=once)
        return Endpoint(cast(Transport, transport), cast(Auth, None), host).base("x")

    return found


@pytest.mark.parametrize("answer", [200, 401, 404, BUSY])
def test_who_answers_by_tls_has_it(base: Base, answer: Answer) -> None:
    assert base([answer]) == f"https://{HOST}"


@pytest.mark.parametrize("fault", [LOST, UNREACHABLE])
@pytest.mark.parametrize("answer", [200, 401, 404])
def test_who_answers_without_tls_alone_has_none(base: Base, fault: ImageFault, answer: int) -> None:
    assert base([fault], [answer]) == f"http://{HOST}"


@pytest.mark.parametrize("fault", [LOST, UNREACHABLE])
@pytest.mark.parametrize("answer", [LOST, UNREACHABLE, 400, TLS], ids=str)
def test_what_is_lost_is_tried_again(base: Base, fault: ImageFault, answer: Answer) -> None:
    assert base([fault, fault, 200], [answer]) == f"https://{HOST}"


def test_one_without_tls_that_is_busy_is_asked_again(base: Base) -> None:
    assert base([LOST], [BUSY, BUSY, 200]) == f"http://{HOST}"
    with pytest.raises(Busy):
        base([LOST], [BUSY])


def test_who_never_answers_is_told_of_by_tls(base: Base) -> None:
    with pytest.raises(ImageFault, match="lost"):
        base([LOST], [UNREACHABLE])


def test_a_certificate_that_is_not_trusted_is_final(base: Base) -> None:
    with pytest.raises(ImageFault, match="not trusted"):
        base([UNTRUSTED], [200])


def test_one_port_is_for_one_of_the_two(base: Base) -> None:
    with pytest.raises(ImageFault, match="nothing listens"):
        base([UNREACHABLE], [200], f"{HOST}:5000")
    assert base([LOST], [200], f"{HOST}:5000") == f"http://{HOST}:5000"


def test_a_deletion_asks_a_server_that_is_lost_no_more_often_than_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "answers_plainly", lambda *_: False)
    monkeypatch.setattr("ingot.images.registry.retry.time.sleep", lambda seconds: None)
    asked: list[str] = []

    def once(request: Request) -> Any:
        asked.append(request.url)
        raise LOST

    settings = Settings(tries=3)
    transport = SimpleNamespace(settings=settings, plain_allowed=lambda origin: True, once=once)
    door = Endpoint(cast(Transport, transport), cast(Auth, None), HOST)
    with pytest.raises(ImageFault, match="lost"):
        Repository(door, "a/b").delete(Digest.of(b"image"), "x")
    assert asked == [TLS, PLAIN] * settings.tries
