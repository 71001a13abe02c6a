"""The kubeconfig of the administrator of one directory."""

from base64 import b64encode
from pathlib import Path

import yaml

from ingot.api.object import Object
from ingot.host.files import write_atomically
from ingot.standalone.access.pki import Pki
from ingot.standalone.access.user import ADMIN

CONTEXT = "ingot"
_REACHED_BY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104, compared, not bound


def kubeconfig(pki: Pki, server: str) -> Object:
    """A kubeconfig with authority, client certificate and key inside: the file may be copied alone."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {"certificate-authority-data": _base64(pki.authority_pem), "server": server},
            }
        ],
        "users": [
            {
                "name": ADMIN,
                "user": {
                    "client-certificate-data": _base64(pki.admin.certificate_pem),
                    "client-key-data": _base64(pki.admin.key_pem),
                },
            }
        ],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": ADMIN}}],
        "current-context": CONTEXT,
    }


def server_url(host: str, port: int, scheme: str = "https") -> str:
    """The address for clients on this machine: a server that listens everywhere is reached by loopback."""
    host = _REACHED_BY.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def write_kubeconfig(path: Path, pki: Pki, server: str) -> None:
    write_atomically(path, yaml.safe_dump(kubeconfig(pki, server), sort_keys=False).encode())


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
