"""Storage for the pods of a node under test: sources of PersistentVolumes, and the drivers that some of them need."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ingot.api.object import Object
from kube.node import RealNode
from kube.process import Process

CSI, FLEX = "csi.ingot.test", "ingot.test/flex"
CSI_DRIVER: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": CSI},
    "spec": {"attachRequired": False},
}
_PYTHON = "/usr/bin/python3"
_MEBIBYTE = 1 << 20
_START_TIMEOUT = 30.0
# It binds the directory that is the option `from`.
_FLEX_DRIVER = """#!/bin/sh -e
case $1 in
init) echo '{"status": "Success", "capabilities": {"attach": false}}'; exit ;;
mount) mkdir -p "$2"; mount --bind "$(echo "$3" | sed 's/.*"from":"\\([^"]*\\)".*/\\1/')" "$2" ;;
unmount) umount "$2" ;;
*) echo '{"status": "Not supported"}'; exit 1 ;;
esac
echo '{"status": "Success"}'
"""


def why_not() -> str:
    """Why the CSI driver cannot run here; "" when it can."""
    found = subprocess.run([_PYTHON, "-c", "import grpc"], capture_output=True)
    return "" if found.returncode == 0 else "no CSI driver: apt-get install python3-grpcio"


def install_flex(node: RealNode) -> None:
    """Puts the FlexVolume driver where the node will find it when it starts."""
    program = node.plugins / FLEX.replace("/", "~") / FLEX.rpartition("/")[2]
    program.parent.mkdir()
    program.write_text(_FLEX_DRIVER)
    program.chmod(0o755)


@contextmanager
def csi(node: RealNode) -> Iterator[None]:
    """The CSI driver on a node that runs, for the length of the block."""
    node.kubectl("create", "-f", "-", stdin=CSI_DRIVER)
    socket = node.root / "plugins_registry" / "ingot.sock"
    command = [_PYTHON, str(Path(__file__).with_name("csi.py")), CSI, str(socket)]
    with Process("csi", command, node.directory / "csi.log") as process:
        deadline = time.monotonic() + _START_TIMEOUT
        while CSI not in node.kubectl("get", "csinodes", "-o", "jsonpath={.items[*].spec.drivers[*].name}"):
            process.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"the kubelet did not register the CSI driver\n{process.tail()}")
            time.sleep(0.1)
        yield


@contextmanager
def loop(file: Path) -> Iterator[Path]:
    """A block device of a mebibyte, for the length of the block."""
    file.write_bytes(bytes(_MEBIBYTE))
    made = subprocess.run(["losetup", "--find", "--show", file], check=True, capture_output=True, text=True)
    device = made.stdout.strip()
    try:
        yield Path(device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def local(path: Path) -> Object:
    return {"local": {"path": str(path)}}


def host_path(path: Path) -> Object:
    return {"hostPath": {"path": str(path)}}


def flex(path: Path) -> Object:
    return {"flexVolume": {"driver": FLEX, "options": {"from": str(path)}}}


def csi_volume(path: Path) -> Object:
    return {"csi": {"driver": CSI, "volumeHandle": str(path)}}
