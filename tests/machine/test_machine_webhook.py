"""`ingot webhook` as a process of its own."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

COMMAND = [sys.executable, "-c", "from ingot.cli.main import main; main()", "webhook"]
# Nobody's own cluster is asked.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOME": "/nowhere", "KUBECONFIG": ""}


def issue(ca: trustme.CA, folder: Path) -> list[str]:
    issued = ca.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(folder / "tls.crt"))
    issued.private_key_pem.write_to_path(str(folder / "tls.key"))
    return ["--certificate", str(folder / "tls.crt"), "--key", str(folder / "tls.key")]


def refused(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=30, env=ENVIRONMENT)
    assert done.stdout == ""
    return done.returncode, done.stderr


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address; it has ended well when the context is left."""
    with subprocess.Popen(
        [*COMMAND, *arguments, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            found = re.fullmatch(r"Ingot answers webhooks at (https://127\.0\.0\.1:\d+) \(pid (\d+)\)\n", told)
            assert found is not None, told
            assert found[2] == str(process.pid)
            yield process, found[1]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def ask(url: str, ca: trustme.CA, review: dict[str, Any] | None = None) -> Any:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    body = None if review is None else json.dumps(review).encode()
    request = urllib.request.Request(url, data=body)  # noqa: S310  # always https on loopback
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:  # noqa: S310
        text = answer.read()
    return text.decode() if review is None else json.loads(text)["response"]


def admission(obj: dict[str, Any], *groups: str) -> dict[str, Any]:
    group, version = obj["apiVersion"].split("/")
    kind = {"group": group, "version": version, "kind": obj["kind"]}
    user = {"username": "jane", "groups": groups}
    request = {"uid": "u", "operation": "CREATE", "kind": kind, "name": "it", "object": obj, "userInfo": user}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def test_it_answers_until_it_is_told_to_end_and_takes_a_new_certificate(tmp_path: Path) -> None:
    ca = trustme.CA()
    cron = {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataImportCron",
        "metadata": {"name": "it", "namespace": "here"},
        "spec": {"source": {"registry": {"url": "docker://here/it"}}, "schedule": "soon", "managedDataSource": "it"},
    }
    machine = {
        "apiVersion": "kubevirt.io/v1alpha1",
        "kind": "VM",
        "metadata": {"name": "it"},
        "spec": {"domain": {"devices": {"disks": [{"source": {"pvc": {"claimname": "c"}}}]}}},
    }
    converting = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "kubevirt.io/v1", "objects": [machine]},
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        metrics = f"127.0.0.1:{free.getsockname()[1]}"
    with serving(*issue(ca, tmp_path), "--metrics", metrics) as (_, url):
        assert ask(f"{url}/readyz", ca) == "ok"
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as page:
            assert b'ingot_certificate_expiry_timestamp_seconds{certificate="webhook"}' in page.read()
        assert ask(f"{url}/mutate", ca, admission(cron))["patchType"] == "JSONPatch"
        new = {**cron, "spec": {"template": {"spec": cron["spec"]}, "schedule": "soon", "managedDataSource": "it"}}
        assert "spec.schedule" in ask(f"{url}/validate", ca, admission(new))["status"]["message"]
        [converted] = ask(f"{url}/convert", ca, converting)["convertedObjects"]
        assert converted["spec"]["volumes"] == [{"name": "disk-0", "persistentVolumeClaim": {"claimName": "c"}}]
        other = trustme.CA()
        issue(other, tmp_path)
        assert ask(f"{url}/readyz", other) == "ok"


def test_without_a_cluster_to_ask_only_its_masters_give_machines_files_of_nodes(tmp_path: Path) -> None:
    ca = trustme.CA()
    volume = {"name": "root", "hostDisk": {"path": "/etc/shadow", "type": "Disk"}}
    machine = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "it", "namespace": "here"},
        "spec": {"domain": {"devices": {"disks": [{"name": "root", "disk": {}}]}}, "volumes": [volume]},
    }
    with serving(*issue(ca, tmp_path)) as (_, url):
        told = ask(f"{url}/validate", ca, admission(machine, "dev"))
        assert (told["allowed"], told["status"]["code"]) == (False, 403)
        assert "spec.volumes[0].hostDisk (/etc/shadow)" in told["status"]["message"]
        assert "run it with --kubeconfig" in told["status"]["message"]
        assert ask(f"{url}/validate", ca, admission(machine, "dev", "system:masters"))["allowed"]
    code, told = refused(*issue(ca, tmp_path), "--kubeconfig", str(tmp_path / "none"))
    assert (code, told.count("\n")) == (1, 1)
    assert "no such kubeconfig" in told


def test_what_the_user_can_mend_is_told_in_a_line(tmp_path: Path) -> None:
    usable = issue(trustme.CA(), tmp_path)
    absent = ["--certificate", str(tmp_path / "none.crt"), "--key", str(tmp_path / "tls.key")]
    code, told = refused(*absent)
    assert (code, told.count("\n")) == (1, 1)
    assert "none.crt: No such file" in told
    (tmp_path / "other.key").write_text("no key")
    code, told = refused("--certificate", usable[1], "--key", str(tmp_path / "other.key"))
    assert (code, told.count("\n")) == (1, 1)
    assert "no usable certificate and key" in told
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        told = f"Error: {place} is taken by another program; choose another with --listen, or port 0 for a free one\n"
        assert refused(*usable, "--listen", place) == (1, told)
    code, told = refused(*usable, "--listen", "192.0.2.1:0")
    assert (code, told.count("\n")) == (1, 1)
    assert told.startswith("Error: cannot listen on 192.0.2.1:0: ")


@pytest.mark.parametrize("value", ["9443", "foo:", ":65536"])
def test_bad_addresses_are_refused(value: str) -> None:
    code, told = refused("--certificate", "c", "--key", "k", "--listen", value)
    assert code == 2
    assert f"'{value}' is not [ADDRESS]:PORT, such as :9443 or [::1]:0" in told
