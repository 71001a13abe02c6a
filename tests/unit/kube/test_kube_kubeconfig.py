import base64
import os
from pathlib import Path

import pytest
import yaml

from ingot.kube.kubeconfig import Config, ConfigError, Material, in_cluster, load

HIDDEN = "hunter2"
BASE = {
    "clusters": [
        {"name": "home", "cluster": {"server": "https://home:6443/", "certificate-authority": "ca.crt"}},
        {"name": "lab", "cluster": {"server": "http://lab", "insecure-skip-tls-verify": True}},
    ],
    "users": [
        {"name": "me", "user": {"token": "secret"}},
        {"name": "cert", "user": {"client-certificate": "/c.pem", "client-key-data": base64.b64encode(b"k").decode()}},
    ],
    "contexts": [
        {"name": "home", "context": {"cluster": "home", "user": "me", "namespace": "mine"}},
        {"name": "lab", "context": {"cluster": "lab", "user": "cert"}},
    ],
    "current-context": "home",
}


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def user(tmp_path: Path, **fields: object) -> Config:
    document = BASE | {"users": [{"name": "me", "user": {key.replace("_", "-"): v for key, v in fields.items()}}]}
    return load(write(tmp_path / "user", document))


def test_the_current_context_is_taken(tmp_path: Path) -> None:
    config = load(write(tmp_path / "config", BASE))
    assert config.server == "https://home:6443"
    assert config.namespace == "mine"
    assert config.ca == Material(file=tmp_path / "ca.crt")
    assert config.token == Material(b"secret")


def test_another_context_can_be_named(tmp_path: Path) -> None:
    config = load(write(tmp_path / "config", BASE), context="lab")
    assert (config.server, config.namespace, config.insecure) == ("http://lab", "default", True)
    assert config.certificate == Material(file=Path("/c.pem"))
    assert config.key == Material(b"k")


def test_of_several_files_the_first_to_define_a_name_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "a" / "config", {"users": [{"name": "me", "user": {"tokenFile": "token"}}]})
    second = write(tmp_path / "b" / "config", BASE)
    missing = tmp_path / "missing"
    config = load(env={"KUBECONFIG": os.pathsep.join(str(path) for path in (missing, first, second))})
    assert config.token == Material(file=tmp_path / "a" / "token")
    assert config.ca == Material(file=tmp_path / "b" / "ca.crt")


def test_home_is_the_last_place_to_look(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", BASE)
    assert load(env={"HOME": str(tmp_path)}).namespace == "mine"


def test_a_token_file_wins_over_the_token_it_once_held(tmp_path: Path) -> None:
    config = user(tmp_path, token=HIDDEN, tokenFile="/t")
    assert config.token == Material(file=Path("/t"))


def test_inline_data_wins_over_a_path(tmp_path: Path) -> None:
    data = base64.b64encode(b"pem").decode()
    assert user(tmp_path, client_certificate="/c", client_certificate_data=data).certificate == Material(b"pem")


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    config = user(tmp_path, **{"as": "jane", "as-groups": ["dev", "ops"]})
    assert config.headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
    )


def test_secrets_are_not_printed(tmp_path: Path) -> None:
    config = user(tmp_path, token=HIDDEN, username="me", password=HIDDEN)
    assert HIDDEN not in repr(config)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"current-context": ""}, "no current-context"),
        ({"current-context": "moon"}, r'no context "moon" \(there is: home, lab\)'),
        ({"clusters": []}, 'names cluster "home", which is not there'),
        ({"clusters": [{"name": "home", "cluster": {"server": "home:6443"}}]}, "is not an http:// or https:// address"),
        ({"clusters": [{"name": "home", "cluster": {"server": 5}}]}, r"clusters\[0\].cluster.server"),
        ({"users": [{"name": "me", "user": {"client-key-data": "%"}}]}, r"users\[0\].user.client-key-data"),
        ({"users": [{"name": "me", "user": {"exec": {"command": "aws"}}}]}, "plugins .* are not run"),
        ({"contexts": "x"}, "Expected `array | null`"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    path = write(tmp_path / "config", BASE | change)
    with pytest.raises(ConfigError, match=problem) as error:
        load(path)
    assert error.value.source == str(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"{", b"- a", b"", b"\x00"])
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="not a kubeconfig"):
        load(path)


def test_nothing_anywhere_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.kube/config: no such kubeconfig"):
        load(env={"HOME": str(tmp_path)})


def service_account(root: Path) -> Path:
    root.mkdir()
    (root / "token").write_text("t")
    (root / "ca.crt").write_text("c")
    (root / "namespace").write_text("ours\n")
    return root


def test_a_pod_is_its_service_account(tmp_path: Path) -> None:
    root = service_account(tmp_path / "sa")
    config = in_cluster(root, {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"})
    assert (config.server, config.namespace) == ("https://[fd00::1]:6443", "ours")
    assert config.token == Material(file=root / "token")


def test_outside_of_a_pod_there_is_no_service_account(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not in a pod"):
        in_cluster(tmp_path, {})
    with pytest.raises(ConfigError, match="not in a pod"):
        in_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
