"""The processes that a lab is made of, to be killed; and what machines leave behind when somebody forgets it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp

from guest import lab as living
from guest.console import Console
from guest.lab import Lab
from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import LEASES
from ingot.api.status import ApiError
from ingot.disks.holder import LABEL
from ingot.host.process import Process
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.transport import ConnectionFailed
from ingot.node.domain.document import domain_name
from ingot.node.libvirtd import Libvirtd
from ingot.standalone.children import state_of
from ingot_up import IngotUp

SERVER, MACHINE, AGENT, LIBVIRTD = "server", "machine", "agent", "libvirtd"
BACK_SECONDS = 60.0


def libvirtd(lab: Lab) -> Libvirtd:
    return Libvirtd(lab.directory / "node" / "libvirt")


def part(lab: Lab, name: str) -> Process:
    """One of the processes that guests must outlive."""
    if name == SERVER:
        return Process.of(lab.process.pid)
    if name == LIBVIRTD:
        found = libvirtd(lab).process
        assert found, "libvirtd does not run"
        return found
    state = state_of(lab.directory, name)
    assert state, f"the server knows nothing of its child {name}"
    return Process(state.pid, state.born)


async def kill(*processes: Process) -> None:
    """Kills them all at once, and waits until they are gone."""
    for process in processes:
        process.signal(signal.SIGKILL)
    for process in processes:
        assert await process.ended(10)


async def killed(lab: Lab, *names: str) -> None:
    """Kills parts of a lab; a server that was among them is started again, as a person would."""
    await kill(*(part(lab, name) for name in names))
    if SERVER in names:
        restart(lab)


def restart(lab: Lab) -> None:
    """Starts the server again in the same directory, when it has ended or after ending it.

    It blocks, and must be called in the main thread: a process of a test ends with the thread that started it.
    """
    lab.process.__exit__(None, None, None)
    IngotUp.__enter__(lab)


def connected(lab: Lab) -> Client:
    """A new connection: one from before may have been to a server that is dead."""
    return Client.connect(load(lab.kubeconfig), on_warning=lambda _: None)


@contextlib.asynccontextmanager
async def console(lab: Lab, instance: Object) -> AsyncIterator[Console]:
    """The console of a guest, waited for until all that leads to it is back."""
    async with connected(lab) as client:
        deadline = asyncio.get_running_loop().time() + BACK_SECONDS
        while True:
            async with contextlib.AsyncExitStack() as stack:
                try:
                    found = await stack.enter_async_context(living.console_of(client, instance))
                except (ApiError, ConnectionFailed, aiohttp.ClientError):
                    if asyncio.get_running_loop().time() > deadline:
                        raise
                else:
                    await found.ready()
                    yield found
                    return
            await asyncio.sleep(0.2)


def qemus(lab: Lab, instance: Object) -> list[int]:
    """The numbers of the QEMUs that an instance has."""
    return [pid for pid, command in lab.processes(uid_of(instance)) if "qemu-system" in command[0]]


def launches(lab: Lab, instance: Object) -> int:
    """How many QEMUs libvirt has ever started for machines of that name, as it has written down itself."""
    log = libvirtd(lab).logs / f"{domain_name(instance)}.log"
    return log.read_text(errors="replace").count(": starting up libvirt")


def virsh(lab: Lab, *words: str) -> list[str]:
    """The lines that virsh prints, asked of the lab's own libvirtd."""
    command = ["virsh", "-q", "-c", libvirtd(lab).uri, *words]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()]


async def remains(lab: Lab, client: Client, *places: Path) -> set[str]:
    """All that machines have on the node, in libvirt and in the API, and should take with them; `places` are further
    directories that are to be looked at."""
    leases = (await client.list(LEASES, SYSTEM_NAMESPACE, label_selector=LABEL))["items"]
    guests = {f"domain {name}" for name in virsh(lab, "list", "--all", "--name")}
    secrets = {f"secret {line}" for line in virsh(lab, "secret-list")}
    return on_node(lab, *places) | guests | secrets | {f"lease {name_of(lease)}" for lease in leases}


def on_node(lab: Lab, *places: Path) -> set[str]:
    """Files, processes, mounts and loop devices of machines."""
    node, pods = lab.directory / "node", lab.directory / "kubelet" / "pods"
    kept = [node / "machines", node / "pools" / "default", pods, *places]
    files = {str(path) for place in kept if place.is_dir() for path in place.rglob("*")}
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    loops = subprocess.run(["losetup", "--list", "--noheadings", "--output", "name,back-file"], capture_output=True)
    return (
        files
        | {f"mount {mount}" for mount in mounts if str(lab.directory) in mount}
        | {f"loop {line}" for line in loops.stdout.decode().splitlines() if str(lab.directory) in line}
        | {f"process {pid} {' '.join(command)[:200]}" for pid, command in lab.processes() if _is_of_a_machine(command)}
    )


def _is_of_a_machine(command: list[str]) -> bool:
    """Whether a process runs for one machine: not the lab's own, which come back under other numbers."""
    return command[0] != sys.executable and not any(word.endswith("libvirtd") for word in command)


async def nothing_but(lab: Lab, client: Client, before: set[str], *places: Path, seconds: float = 30.0) -> None:
    """Waits until there is no more than there was before."""
    left: set[str] = set()

    async def clear() -> bool:
        left.clear()
        left.update(await remains(lab, client, *places) - before)
        return not left

    await living.eventually(clear, lambda: "\n".join(sorted(left)), seconds)
