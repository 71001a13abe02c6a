"""Credentials of docker's and podman's files, and challenges of registries."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.fault import ImageFault
from ingot.images.registry.challenge import Challenge, parse_challenges
from ingot.images.registry.credentials import Credentials, find


def written(directory: Path, value: object, name: str = "config.json") -> Path:
    path = directory / name
    path.write_text(json.dumps(value))
    return path


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.mark.parametrize(
    ("key", "registry"),
    [
        ("quay.io", "quay.io"),
        ("https://quay.io", "quay.io"),
        ("https://quay.io/v1/", "quay.io"),
        ("quay.io/team", "quay.io"),
        ("quay.io/team/disks", "quay.io"),
        ("https://index.docker.io/v1/", "docker.io"),
        ("docker.io", "docker.io"),
        ("localhost:5000", "localhost:5000"),
    ],
)
def test_names_of_a_registry(tmp_path: Path, key: str, registry: str) -> None:
    path = written(tmp_path, {"auths": {key: auth("me", "pass:word")}})
    assert find((path,), registry, "team/disks") == Credentials("me", "pass:word")


def test_strangers(tmp_path: Path) -> None:
    path = written(tmp_path, {"auths": {"quay.io": auth("me", "x"), "docker.io/team": auth("me", "y")}})
    assert find((path,), "registry.example", "a") is None
    assert find((path,), "docker.io", "other/disks") is None
    assert find((path,), "docker.io", "team2") is None
    assert find((), "quay.io", "a") is None


def test_the_most_special_name_and_the_first_file_win(tmp_path: Path) -> None:
    first = written(tmp_path, {"auths": {"a.b": auth("all", "1"), "a.b/team": auth("team", "2"), "c.d": {}}}, "1")
    second = written(tmp_path, {"auths": {"a.b": auth("late", "3"), "c.d": auth("empty", "4")}}, "2")
    assert find((first, second), "a.b", "team/x") == Credentials("team", "2")
    assert find((first, second), "a.b", "other") == Credentials("all", "1")
    assert find((first, second), "c.d", "other") == Credentials("empty", "4")


def helper(directory: Path, script: str) -> None:
    program = directory / "docker-credential-test"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)


def test_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    path = written(tmp_path, {"auths": {"a.b": auth("file", "x")}, "credHelpers": {"a.b": "test", "c.d": "test"}})
    helper(tmp_path, """read host; echo "{\\"Username\\":\\"$1-$host\\",\\"Secret\\":\\"s\\"}" """)
    assert find((path,), "a.b", "x") == Credentials("get-a.b", "s")
    helper(tmp_path, """echo '{"Username":"<token>","Secret":"refresh"}'""")
    assert find((path,), "c.d", "x") == Credentials("", "", "refresh")
    helper(tmp_path, "echo credentials not found in native keychain; exit 1")
    assert find((path,), "c.d", "x") is None
    for script in ("exit 1", "echo garbage", "echo '{}'"):
        helper(tmp_path, script)
        with pytest.raises(ImageFault) as caught:
            find((path,), "c.d", "x")
        assert caught.value.reason == "HelperFailed"


@pytest.mark.parametrize("name", ["missing", "../evil", "a b", ""])
def test_helpers_that_are_none(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, {"credHelpers": {"a.b": name}})
    with pytest.raises(ImageFault) as caught:
        find((path,), "a.b", "x")
    assert caught.value.reason in ("NoHelper", "BadCredentials")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"auths": []}',
        '{"auths": {"a.b": {"auth": "%%%"}}}',
        '{"auths": {"a.b": {"auth": "\u00e9%%%"}}}',
        '{"auths": {"a.b": {"auth": "eHg="}}}',
    ],
)
def test_bad_files_are_named_and_not_quoted(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ImageFault) as caught:
        find((path,), "a.b", "x")
    assert caught.value.reason == "BadCredentials"
    assert str(path) in str(caught.value)
    assert "%%%" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImageFault, match="not there"):
        find((tmp_path / "none",), "a.b", "x")


def test_secrets_are_not_shown() -> None:
    shown = repr(Credentials("me", "a-password", "a-token"))
    assert "a-password" not in shown
    assert "a-token" not in shown
    assert Credentials("Aladdin", "open sesame").basic == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="


def test_challenges() -> None:
    text = 'Bearer realm="https://a/t?x=1,2",service="s \\"q\\"",scope="repository:a:pull,push" , Basic realm=disks'
    assert parse_challenges([text, "negotiate"]) == [
        Challenge("bearer", {"realm": "https://a/t?x=1,2", "service": 's "q"', "scope": "repository:a:pull,push"}),
        Challenge("basic", {"realm": "disks"}),
        Challenge("negotiate", {}),
    ]


@given(st.text(max_size=100) | st.text('Bearer ="\\,realm', max_size=100))
def test_no_challenge_breaks_the_reader(text: str) -> None:
    parse_challenges([text])
