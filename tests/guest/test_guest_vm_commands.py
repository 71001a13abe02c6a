"""`ingot vm` with a real guest: run, talk, pause, restart, look at the screen, remove."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import closing

import pytest

from guest.image.build import READY
from guest.lab import Lab
from kube.server import INGOT

NAME = "by-command"
MEMORY = "128Mi"


def vm(lab: Lab, *words: str, send: str = "") -> str:
    """What a command prints; one that fails fails the test with what it said."""
    command = [*INGOT, "vm", *words, "--kubeconfig", str(lab.kubeconfig)]
    done = subprocess.run(command, input=send, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def listed(lab: Lab) -> dict[str, str]:
    return {row["name"]: row["status"] for row in json.loads(vm(lab, "ls", "-o", "json"))}


@pytest.mark.timeout(300)
def test_a_disk_becomes_a_guest_that_is_talked_to_and_removed(lab: Lab) -> None:
    vm(lab, "run", str(lab.boot), "--name", NAME, "--memory", MEMORY, "--wait")
    assert READY in vm(lab, "console", NAME, "--until", READY, "--timeout", "60s")
    said = vm(lab, "console", NAME, "--until", "sum is 42", "--timeout", "30s", send="echo sum is $((6*7))\n")
    assert "sum is 42" in said

    vm(lab, "pause", NAME)
    assert vm(lab, "unpause", NAME) == f"{NAME} runs on\n"
    _screen(lab)

    vm(lab, "restart", NAME, "--force")
    drawn = vm(lab, "describe", NAME)
    assert f"overlay (copy-on-write, usage default)\n     └─ file {lab.boot}" in drawn

    vm(lab, "stop", NAME, "--force", "--wait")
    assert listed(lab)[NAME] == "Stopped"
    vm(lab, "rm", NAME)
    assert NAME not in listed(lab)
    assert not [command for _, command in lab.processes(NAME) if "qemu" in command[0]]


def _screen(lab: Lab) -> None:
    """A VNC client that connects to what `ingot vm vnc` offers hears RFB."""
    command = [*INGOT, "vm", "vnc", NAME, "--kubeconfig", str(lab.kubeconfig)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout
            port = int(process.stdout.readline().rpartition(":")[2])
            with closing(socket.create_connection(("127.0.0.1", port), 20)) as client:
                client.settimeout(20)
                assert client.recv(4, socket.MSG_WAITALL) == b"RFB "
        finally:
            process.terminate()
