import os
from pathlib import Path

import pytest

from ingot.standalone.pods import oci
from ingot.standalone.pods.containers import is_own
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.user import User, user_of


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("podman", "runc"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", "/root")


def command(container: dict[str, object], user: User | None = None, **environment: str) -> str:
    full = {"image": "docker.example/x:1", **container}
    words = oci.run_command(full, "name", {"v": Path("/host/v")}, user or User(), Path("/m"), environment)
    return " ".join(words)


def test_values_of_variables_are_not_on_the_command_line() -> None:
    text = command({}, PASSWORD="hush", HOME="/data")  # noqa: S106 - the point of the test
    assert "--env PASSWORD --env HOME=/data" in text
    assert "hush" not in text


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "CONTAINERS_CONF", "XDG_DATA_HOME", "TMPDIR", "A*"])
def test_variables_of_a_pod_do_not_steer_what_runs_it(name: str) -> None:
    given = {name: "/volume/evil", "PASSWORD": "hush", "PATH": "/volume"}
    assert oci.surroundings(given) == {**os.environ, "PASSWORD": "hush"}
    words = oci.run_command({"image": "x"}, "name", {}, User(), Path("/m"), given)
    assert f"--env {name}=/volume/evil --env PASSWORD --env PATH=/volume" in " ".join(words)


def test_what_the_container_asks_for_becomes_options() -> None:
    container = {
        "command": ["a b", "c"],
        "args": ["-d"],
        "workingDir": "/w",
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True}],
        "resources": {"limits": {"memory": "64Mi", "cpu": "500m"}},
        "securityContext": {"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}, "readOnlyRootFilesystem": True},
    }
    text = command(container, User(5, 6))
    for part in (
        '--entrypoint ["a b", "c"]',
        "-- docker.example/x:1 -d",
        "--workdir /w",
        "--volume /host/v:/v:ro",
        "--volume /m:/dev/termination-log",
        "--memory 67108864",
        "--cpus 0.5",
        "--cap-add=NET_ADMIN",
        "--cap-drop=ALL",
        "--read-only",
        "--user 5:6",
        "--network host",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    ("image", "own"),
    [("ingot", True), ("ingot:v1", True), ("ingot@sha256:00", True), ("docker.io/ingot", False), ("ingots", False)],
)
def test_which_images_are_ours(image: str, own: bool) -> None:
    assert is_own({"image": image}) is own


def test_root_runs_as_whom_the_pod_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    pod = {"spec": {"securityContext": {"runAsUser": 7, "runAsGroup": 8}}}
    assert user_of(pod, {}) == User(7, 8)
    assert user_of(pod, {"securityContext": {"runAsUser": 9}}) == User(9, 8)
    assert User(7, 8).options == ["--reuid", "7", "--regid", "8", "--clear-groups"]
    assert User(7).options[3] == "7"
    assert User().options == []
    with pytest.raises(PodFault, match="runAsNonRoot"):
        user_of({"spec": {"securityContext": {"runAsNonRoot": True}}}, {})


def test_an_ordinary_user_stays_what_he_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("os.getegid", lambda: 1000)
    assert user_of({"spec": {"securityContext": {"runAsUser": 1000, "runAsNonRoot": True}}}, {}) == User()
    with pytest.raises(PodFault, match="user 1000, who runs ingot, cannot become 0:None"):
        user_of({"spec": {}}, {"securityContext": {"runAsUser": 0}})
