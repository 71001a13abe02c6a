"""Health: one word, or every check."""

import pytest
from multidict import MultiDict

from ingot.standalone.http.health import Health


def ask(path: str, ready: bool = True, **query: str) -> tuple[int, str] | None:
    answer = Health(lambda: ready).answer(path, MultiDict(query))
    return (answer.status, str(answer.text)) if answer else None


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/started"])
def test_a_server_that_is_well_says_ok(path: str) -> None:
    assert ask(path) == (200, "ok")


def test_every_check_can_be_told() -> None:
    assert ask("/readyz", verbose="") == (200, "[+]ping ok\n[+]started ok\nreadyz check passed\n")


def test_a_server_that_starts_is_alive_but_not_ready() -> None:
    assert ask("/livez", ready=False) == (200, "ok")
    assert ask("/readyz", ready=False) == (
        500,
        "[+]ping ok\n[-]started failed: reason withheld\nreadyz check failed\n",
    )
    assert ask("/readyz/started", ready=False) == (500, "internal server error: started failed\n")


def test_checks_can_be_left_out() -> None:
    assert ask("/readyz", ready=False, exclude="started") == (200, "ok")
    told = ask("/healthz", verbose="", exclude="etcd")
    assert told is not None
    assert 'warn: some health checks cannot be excluded: no matches for "etcd"' in told[1].splitlines()


@pytest.mark.parametrize("path", ["/healthz/etcd", "/metrics", "/", "/livez/started"])
def test_other_paths_are_not_its_business(path: str) -> None:
    assert ask(path) is None
