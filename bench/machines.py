"""Machines: how much later than with plain libvirt a guest runs, and what a hundred of them cost."""

import asyncio
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from bench.report import Bound, Margin
from guest.lab import Lab, node_name
from ingot.api.resources import INSTANCES
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.node.libvirtd import Libvirtd
from kube.binaries import home

ROUNDS = 9
MANY = 100
MOST_EXTRA_SECONDS = 1.0
MOST_MEGABYTES = 300.0
MOST_IDLE_PERCENT = 1.0
IDLE_SECONDS = 30.0
WAIT_SECONDS = 180.0


def run() -> tuple[list[Margin], list[Bound]]:
    """All figures, on a whole `ingot up` of its own."""
    with Lab() as lab:
        return asyncio.run(_measure(lab))


async def _measure(lab: Lab) -> tuple[list[Margin], list[Bound]]:
    async with Client.connect(load(str(lab.kubeconfig))) as client:
        await node_name(client)
        bench = Machines(lab, client)
        margin = await bench.start()
        return [margin], [*await bench.many()]


class Machines:
    """Measures on one whole machine."""

    def __init__(self, lab: Lab, client: Client) -> None:
        self._lab = lab
        self._client = client
        self._disk = lab.home / "disk.img"
        self._disk.write_bytes(b"")
        os.truncate(self._disk, 8 << 20)
        self._disk.chmod(0o666)
        self._libvirt = Libvirtd(lab.directory / "node" / "libvirt").uri

    async def start(self) -> Margin:
        """`kubectl apply` until libvirt runs the domain, beside `virsh create` of the same XML, in turn."""
        ours, theirs = [], []
        for turn in range(ROUNDS + 1):
            seconds, xml = await self._apply(f"bench-{turn}")
            plain = self._create(xml)
            # The first of each warms caches up.
            if turn:
                ours.append(seconds)
                theirs.append(plain)
        return Margin(
            "a manifest until its domain runs, p50",
            statistics.median(ours),
            statistics.median(theirs),
            MOST_EXTRA_SECONDS,
        )

    async def _apply(self, name: str) -> tuple[float, str]:
        """Seconds from before `kubectl apply` until virsh says that the domain runs; and the domain's XML."""
        manifest = self._manifest([machine(name, {"hostDisk": {"path": str(self._disk), "type": "Disk"}})])
        began = time.perf_counter()
        self._kubectl("apply", "-f", str(manifest))
        while self._virsh("domstate", f"default_{name}", check=False).strip() != "running":
            if time.perf_counter() - began > WAIT_SECONDS:
                raise TimeoutError(f"{name} does not run")
        seconds = time.perf_counter() - began
        xml = self._virsh("dumpxml", f"default_{name}")
        self._kubectl("delete", "vm", name)
        await self._until(lambda instances: not instances)
        return seconds, xml

    def _create(self, xml: str) -> float:
        """Seconds of `virsh create` with the same domain, under another name."""
        root = ElementTree.fromstring(xml)  # noqa: S314 - libvirt's own output
        for tag in ("uuid", "seclabel"):
            for element in root.findall(tag):
                root.remove(element)
        for device in ("serial", "console", "channel"):
            for source in root.iterfind(f"devices/{device}/source"):
                source.set("path", str(self._lab.home / f"plain-{device.replace('serial', 'console')}"))
        for source in root.iter("source"):
            # virsh opens the file by its path.
            source.attrib.pop("fdgroup", None)
        path = self._lab.home / "plain.xml"
        path.write_text(re.sub("<name>.*</name>", "<name>plain</name>", ElementTree.tostring(root, encoding="unicode")))
        began = time.perf_counter()
        self._virsh("create", str(path))
        seconds = time.perf_counter() - began
        self._virsh("destroy", "plain")
        return seconds

    async def many(self) -> list[Bound]:
        """A hundred machines at once: until all have a domain, what we hold then, and what an idle agent costs."""
        manifest = self._manifest(
            [machine(f"many-{index}", {"emptyDisk": {"capacity": "8Mi"}}) for index in range(MANY)]
        )
        began = time.perf_counter()
        self._kubectl("apply", "-f", str(manifest))
        await self._until(lambda instances: sum(_is_running(each) for each in instances) == MANY)
        seconds = time.perf_counter() - began
        memory = sum(_proportional(pid) for pid in self._ours()) / 1e6
        agent = self._pid("agent")
        before = _cpu_seconds(agent)
        await asyncio.sleep(IDLE_SECONDS)
        idle = 100 * (_cpu_seconds(agent) - before) / IDLE_SECONDS
        self._kubectl("delete", "vm", "--all")
        await self._until(lambda instances: not instances)
        return [
            Bound(f"{MANY} machines at once until all have a domain", "s", seconds, None),
            Bound(f"memory of our processes with {MANY} machines", "MB", memory, MOST_MEGABYTES),
            Bound(f"CPU of the idle agent with {MANY} machines", "%", idle, MOST_IDLE_PERCENT),
        ]

    def _ours(self) -> list[int]:
        """Server, controllers, agent, and the launchers of all pods; neither QEMU nor libvirtd."""
        theirs = ("qemu-system", "libvirtd")
        found = self._lab.processes(str(self._lab.directory))
        return [pid for pid, command in found if not any(word in command[0] for word in theirs)]

    def _pid(self, name: str) -> int:
        return int(msgspec.json.decode((self._lab.directory / f"{name}.json").read_bytes())["pid"])

    async def _until(self, done: Callable[[list[Any]], bool]) -> None:
        deadline = time.perf_counter() + WAIT_SECONDS
        while not done((await self._client.list(INSTANCES, "default"))["items"]):
            if time.perf_counter() > deadline:
                raise TimeoutError("the machines are not as they should be; see the logs in the directory")
            await asyncio.sleep(0.2)

    def _manifest(self, objects: list[Any]) -> Path:
        path = self._lab.home / "machines.json"
        path.write_bytes(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects}))
        return path

    def _kubectl(self, *words: str) -> str:
        return _output([str(home() / "kubectl"), f"--kubeconfig={self._lab.kubeconfig}", *words])

    def _virsh(self, *words: str, check: bool = True) -> str:
        return _output(["virsh", "--quiet", "-c", self._libvirt, *words], check)


def machine(name: str, volume: dict[str, Any]) -> dict[str, Any]:
    """A machine with one empty disk, as small as machines get: its BIOS finds nothing to boot, and idles."""
    devices = {
        "autoattachPodInterface": False,
        "autoattachGraphicsDevice": False,
        "autoattachMemBalloon": False,
        "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
    }
    domain = {"memory": {"guest": "16Mi"}, "resources": {"requests": {"cpu": "10m"}}, "devices": devices}
    spec = {
        "terminationGracePeriodSeconds": 0,
        "domain": domain,
        "volumes": [{"name": "root", **volume}],
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runStrategy": "Always", "template": {"spec": spec}},
    }


def _output(command: list[str], check: bool = True) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def _is_running(instance: Any) -> bool:
    return bool((instance.get("status") or {}).get("phase") == "Running")


def _proportional(pid: int) -> int:
    """Bytes of a process, with what it shares counted in parts: the sum over processes is what they take together."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
