import base64
import stat
from pathlib import Path

import pytest
import yaml

from ingot.standalone.access import pki
from ingot.standalone.access.kubeconfig import server_url, write_kubeconfig


def test_a_kubeconfig_holds_all_that_a_client_needs(tmp_path: Path) -> None:
    keys = pki.ensure(tmp_path / "pki")
    write_kubeconfig(tmp_path / "kubeconfig", keys, "https://127.0.0.1:6440")
    assert stat.S_IMODE((tmp_path / "kubeconfig").stat().st_mode) == 0o600
    config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    (context,) = [each for each in config["contexts"] if each["name"] == config["current-context"]]
    (cluster,) = [each for each in config["clusters"] if each["name"] == context["context"]["cluster"]]
    (user,) = [each for each in config["users"] if each["name"] == context["context"]["user"]]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:6440"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == keys.authority_pem
    assert base64.b64decode(user["user"]["client-certificate-data"]) == keys.admin.certificate_pem
    assert base64.b64decode(user["user"]["client-key-data"]) == keys.admin.key_pem


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "https://127.0.0.1:1"),
        ("lab.example", "https://lab.example:1"),
        ("::1", "https://[::1]:1"),
        ("0.0.0.0", "https://127.0.0.1:1"),  # noqa: S104, an address to show, not to bind
        ("::", "https://[::1]:1"),
    ],
)
def test_the_address_is_one_that_a_client_can_use(host: str, url: str) -> None:
    assert server_url(host, 1) == url
