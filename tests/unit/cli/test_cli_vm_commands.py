"""`ingot vm` as a process of its own, against a server with an agent whose guests are sockets."""

import asyncio
import json
import os
import pty
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from click.testing import CliRunner

from ingot.api.resources import INSTANCES, MACHINES
from ingot.api.status import ApiError
from ingot.cli.main import cli
from unit.control.machine_world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with running(tmp_path_factory.mktemp("cli")) as made:
        yield made


async def vm(world: World, *words: str) -> tuple[int, str, str]:
    """The exit code, and what is said on standard output and standard error."""
    options = ["--kubeconfig", str(world.directory / "kubeconfig"), "-n", "lab"]
    done = await asyncio.to_thread(CliRunner().invoke, cli, ["vm", *words, *options])
    return done.exit_code, done.stdout, done.stderr


async def console(world: World, name: str, *words: str, send: bytes = b"") -> tuple[int, str, str]:
    """The console as a process of its own, with a pipe for its input."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingot", "vm", "console", name, "-n", "lab", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(world),
    )
    out, err = await asyncio.wait_for(process.communicate(send), 30)
    return process.returncode or 0, out.decode(), err.decode()


def _environment(world: World) -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": str(world.directory / "kubeconfig")}


async def test_from_a_file_to_a_listed_machine_and_away(world: World, tmp_path: Path) -> None:
    disk = tmp_path / "small.raw"
    disk.write_bytes(bytes(512))
    assert await vm(world, "run", str(disk), "--disk", "empty:1Gi") == (0, "small created\n", "")
    code, out, _ = await vm(world, "ls")
    title, row = out.splitlines()[:2]
    assert (code, title.split()) == (0, ["NAME", "STATUS", "AGE", "READY", "NODE", "DISKS"])
    assert (row.split()[:2], row.split()[-1]) == (["small", "Stopped"], "root,disk2")
    code, out, _ = await vm(world, "describe", "small")
    assert "  root  vda  virtio disk, read-shared\n  └─ overlay (copy-on-write, usage default)\n" in out
    code, out, err = await vm(world, "run", str(disk))
    assert (code, "there is a machine small already" in err) == (1, True)
    assert (await vm(world, "rm", "small"))[:2] == (0, "small removed\n")
    with pytest.raises(ApiError):
        await world.client.get(MACHINES, "small", "lab")


async def test_a_manifest_is_applied_and_its_machine_started(world: World, tmp_path: Path) -> None:
    domain = {"devices": {}, "memory": {"guest": "64Mi"}}
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": domain}}}
    manifest = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "filed"}, "spec": spec}
    file = tmp_path / "vm.json"
    file.write_text(json.dumps(manifest))
    assert (await vm(world, "run", "-f", str(file)))[:2] == (0, "filed created\n")
    assert (await world.spec("filed"))["runStrategy"] == "Always"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}))
    code, _, err = await vm(world, "run", "-f", str(file))
    assert (code, "has no machine" in err) == (1, True)


async def test_starts_and_stops_are_told_and_refusals_come_with_a_cure(world: World) -> None:
    await world.machine("one", runStrategy="Halted")
    assert await vm(world, "start", "one") == (0, "one is being started\n", "")
    code, out, err = await vm(world, "stop", "one", "none", "-o", "json")
    assert code == 1
    assert [result["result"] for result in json.loads(out)] == ["is being stopped", "failed"]
    assert "there is no machine none in namespace lab" in err
    assert "`ingot vm ls -A` shows those of all namespaces" in err
    for act in ("restart", "pause", "unpause", "console", "vnc"):
        code, _, err = await vm(world, act, "one")
        assert (code, err) == (1, "Error: one is stopped; start it with `ingot vm start one`\n")
    assert (await vm(world, "stop", "one"))[2] == "Error: one is stopped already: there is nothing to do\n"


async def test_waiting_for_a_start_ends_when_the_guest_runs(world: World) -> None:
    await world.machine("slow", runStrategy="Halted")
    waiting = asyncio.create_task(vm(world, "start", "slow", "--wait", "--timeout", "20s"))
    while (await world.spec("slow"))["runStrategy"] != "Always":  # noqa: ASYNC110  # the command has to come so far
        await asyncio.sleep(0.02)
    await world.instance("slow", "Scheduled")
    await world.client.patch(INSTANCES, "slow", {"status": {"phase": "Running"}}, "lab", subresource="status")
    code, _, err = await waiting
    assert (code, "slow runs on node here" in err) == (0, True)


async def test_waiting_for_a_restart_ends_when_the_next_guest_runs(world: World) -> None:
    await world.machine("again", runStrategy="Always")
    await world.instance("again", "Running")
    waiting = asyncio.create_task(vm(world, "restart", "again", "--wait", "--timeout", "20s"))
    while not await world.requests("again"):  # noqa: ASYNC110  # the command has to come so far
        await asyncio.sleep(0.02)
    await world.client.delete(INSTANCES, "again", "lab")
    await world.instance("again", "Running")
    code, out, err = await waiting
    assert (code, out) == (0, "again is being restarted\n")
    assert "again runs on node here" in err


async def test_removing_waits_for_the_guest(world: World) -> None:
    await world.instance("ends", "Running")
    held = {"metadata": {"finalizers": ["example.com/guest"]}}
    await world.client.patch(INSTANCES, "ends", held, "lab")
    code, _, err = await vm(world, "rm", "ends", "--timeout", "1s")
    assert code == 1
    assert "waiting for end of ends: the guest is shutting down\n" in err
    assert "ends: no end after 1 s; last seen: the guest is shutting down" in err
    await world.client.patch(INSTANCES, "ends", {"metadata": {"finalizers": None}}, "lab")


async def test_a_start_that_fails_is_told(world: World) -> None:
    await world.machine("bad", runStrategy="Halted")
    waiting = asyncio.create_task(vm(world, "start", "bad", "--wait", "--timeout", "20s"))
    while (await world.spec("bad"))["runStrategy"] != "Always":  # noqa: ASYNC110  # the command has to come so far
        await asyncio.sleep(0.02)
    await world.instance("bad", "Failed")
    code, _, err = await waiting
    assert (code, "bad has ended: Failed" in err) == (1, True)


async def test_guests_are_paused_when_they_say_so(world: World) -> None:
    await world.instance("calm", "Running")
    pausing = asyncio.create_task(vm(world, "pause", "calm"))
    while ("pause", "lab", "calm") not in world.guests.asked:  # noqa: ASYNC110  # the command has to come so far
        await asyncio.sleep(0.02)
    said = {"status": {"conditions": [{"type": "Paused", "status": "True"}]}}
    await world.client.patch(INSTANCES, "calm", said, "lab", subresource="status")
    assert (await pausing)[:2] == (0, "calm is paused\n")
    code, _, err = await vm(world, "pause", "calm")
    assert (code, "Let it go on with `ingot vm unpause calm`." in err) == (1, True)


async def test_a_console_works_with_pipes(world: World) -> None:
    await world.instance("talks", "Running")
    code, out, _ = await console(world, "talks", "--silence", "300ms", send=b"hello")
    assert (code, out) == (0, "login: HELLO\n")
    code, out, _ = await console(world, "talks", "--until", "WORLD", "--timeout", "10s", send=b"world and more")
    assert (code, out.startswith("login: WORLD")) == (0, True)
    code, _, err = await console(world, "talks", "--until", "never", "--timeout", "300ms")
    assert (code, 'talks: has not said "never" in 0.3 s' in err) == (1, True)
    await world.instance("asleep", "Scheduling")
    code, _, err = await vm(world, "console", "asleep")
    assert (code, "asleep has not started yet; `ingot vm describe asleep` says" in err) == (1, True)


async def test_a_terminal_is_left_with_its_key(world: World) -> None:
    await world.instance("term", "Running")
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingot", "vm", "console", "term", "-n", "lab"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=_environment(world),
    )
    os.close(theirs)
    loop = asyncio.get_running_loop()

    async def seen(words: bytes) -> None:
        got = b""
        async with asyncio.timeout(20):
            while words not in got:
                got += await loop.run_in_executor(None, os.read, ours, 1000)

    await seen(b"login: ")
    os.write(ours, b"abc\x03")
    await seen(b"ABC\x03")
    os.write(ours, b"\x1d")
    assert await asyncio.wait_for(process.wait(), 20) == 0
    os.close(ours)


async def test_a_screen_is_offered_on_a_port(world: World) -> None:
    await world.instance("shown", "Running")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ingot", "vm", "vnc", "shown", "-n", "lab"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(world) | {"PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout
    line = (await asyncio.wait_for(process.stdout.readline(), 20)).decode()
    assert line.startswith("The screen of shown is at vnc://127.0.0.1:")
    reader, writer = await asyncio.open_connection("127.0.0.1", int(line.rpartition(":")[2]))
    assert await asyncio.wait_for(reader.readexactly(7), 20) == b"login: "
    writer.write(b"rfb")
    assert await asyncio.wait_for(reader.readexactly(3), 20) == b"RFB"
    writer.close()
    process.terminate()
    await process.wait()
