"""A look at an endpoint before a guest gets it: whether it answers, lets us in, and is what it is said to be."""

import asyncio
import contextlib
import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ingot.disks import glance
from ingot.disks.endpoint import Block, Endpoint, File, Format, Network
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import Image, image
from ingot.disks.source.refusal import patiently, refusal
from ingot.host.command import CommandFailed, CommandTimeout, Limits, run
from ingot.host.tasks import together
from ingot.images.qcow2.header import HEAD, BadHeader, Header

_CONNECT_SECONDS = 3.0
_SECONDS = 10.0
# GlusterFS's library takes 10 s to close a file, and to say that there is none.
_GLUSTER_SECONDS = 30.0
# Ceph's library reserves much that it never uses.
_MEMORY = 8 << 30
_SERVERS = {"nbd": "NBD server", "iscsi": "iSCSI portal", "rbd": "Ceph monitor", "gluster": "GlusterFS server"}
_DENIED = ("Authentication fail", "Authorization fail", "not permitted", "Permission denied", "TLS")
_ABSENT = ("not available", "not present", "not found", "NOT_SUPPORTED", "No such file")
# With a wrong key Ceph's library tries for five minutes, and then says that nobody answered. What it thinks meanwhile
# it tells only when it is asked to.
_CEPH_CONF = "/etc/ceph/ceph.conf"
_CEPH_OPTIONS = "\n[global]\nclient_mount_timeout = 4\nerr_to_stderr = true\n"
_CEPH_DENIED = "handle_auth_bad_method"
# Where the image's options end, which QEMU's tools begin with.
_OPTIONS = re.compile(r"['}]: ")
_DUMPED = re.compile(r"^[0-9a-f]{8}:  ((?:[0-9a-f]{2} )+)", re.MULTILINE)


T = TypeVar("T")


async def probe(volume: str, endpoint: Endpoint, scratch: Path) -> int:
    """The virtual size of an endpoint in bytes, which proves that it is there and that we may use it.

    A qcow2 is checked as by `check_qcow2`. `scratch` is a directory that only we can read. It takes at most a few
    seconds. Endpoints behind a bridge are probed by the bridge's endpoint. Raises DiskFault, with the reason
    Unreachable, AccessDenied, NotFound or BadImage.
    """
    if endpoint.format is Format.QCOW2:
        return await check_qcow2(volume, endpoint, scratch)
    if isinstance(endpoint, Network):
        size = await _size(volume, endpoint, scratch)
    else:
        size, _ = await _look(volume, endpoint)
    if size <= 0:
        raise refusal(volume, "BadImage", f"{describe(endpoint)} is empty: it has no bytes")
    return size


async def check_qcow2(volume: str, endpoint: Endpoint, scratch: Path) -> int:
    """The virtual size of a qcow2 that stands by itself. Raises DiskFault as `probe` does.

    One with a backing file, an external data file or encryption, or with sizes that cannot be true, is refused.
    """
    if isinstance(endpoint, Network):
        head = await _head(volume, endpoint, scratch)
    else:
        _, head = await _look(volume, endpoint)
    try:
        header = Header.parse(head)
        header.check()
    except BadHeader as fault:
        raise refusal(volume, "BadImage", f"{describe(endpoint)} {fault}") from None
    return header.size


def describe(endpoint: Endpoint) -> str:
    """An endpoint in words, without anything secret."""
    if not isinstance(endpoint, Network):
        return str(endpoint.path)
    if endpoint.origin:
        return endpoint.origin
    match endpoint.protocol:
        case "nbd":
            thing = f"NBD export {endpoint.name!r}"
        case "iscsi":
            thing = f"LUN {endpoint.lun} of iSCSI target {endpoint.name}"
        case "rbd":
            thing = f"RBD image {endpoint.name}"
        case "gluster":
            thing = f"GlusterFS file {endpoint.name}"
        case _:
            thing = f"{endpoint.protocol}:{endpoint.name}"
    return f"{thing} at {_where(endpoint)}"


def _where(endpoint: Network) -> str:
    return str(endpoint.socket or ", ".join(f"{host.host}:{host.port}" for host in endpoint.hosts))


async def _look(volume: str, endpoint: File | Block) -> tuple[int, bytes]:
    return await patiently(volume, str(endpoint.path), lambda: _size_and_head(volume, endpoint))


def _size_and_head(volume: str, endpoint: File | Block) -> tuple[int, bytes]:
    """The size of a file or a device, and its first bytes."""
    path = endpoint.path
    try:
        descriptor = os.open(endpoint.reach, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.lseek(descriptor, 0, os.SEEK_END), os.pread(descriptor, HEAD, 0)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise refusal(volume, "NotFound", f"{path} does not exist") from None
    except PermissionError as error:
        raise refusal(volume, "AccessDenied", f"{path} cannot be read: {error.strerror}") from None
    except OSError as error:
        raise refusal(volume, "Unreachable", f"{path} cannot be read: {error.strerror}") from None


async def _size(volume: str, endpoint: Network, scratch: Path) -> int:
    if endpoint.protocol == "gluster":
        return await _asked(volume, endpoint, scratch, glance.size)
    asking = _asked(volume, endpoint, scratch, _tool("qemu-img", "info", "--output=json"))
    # A server may tell its size and never give a byte: QEMU would wait for that at its start.
    reading = _asked(volume, endpoint, scratch, _tool("qemu-io", "-r", "-c", "read 0 512"))
    told, _ = await together((asking, reading))
    return int(json.loads(told)["virtual-size"])


async def _head(volume: str, endpoint: Network, scratch: Path) -> bytes:
    plain = replace(endpoint, format=Format.RAW)
    dump = await _asked(volume, plain, scratch, _tool("qemu-io", "-r", "-c", f"read -v 0 {HEAD}"))
    return bytes.fromhex("".join(_DUMPED.findall(dump)))


def _tool(*command: str) -> Callable[[Image, float, dict[str, str]], Awaitable[str]]:
    """What a tool of QEMU's prints about an image."""

    async def ask(opened: Image, seconds: float, environment: dict[str, str]) -> str:
        limits = Limits(seconds, cpu=int(seconds), memory=_MEMORY)
        return await run((*command, *opened.arguments, opened.name), limits=limits, environment=environment)

    return ask


async def _asked(
    volume: str, endpoint: Network, scratch: Path, ask: Callable[[Image, float, dict[str, str]], Awaitable[T]]
) -> T:
    """The answer about an endpoint that is taken for raw, whatever its bytes say. Raises DiskFault."""
    if endpoint.socket is None:
        await _connect(volume, endpoint)
    seconds = _GLUSTER_SECONDS if endpoint.protocol == "gluster" else _SECONDS - _CONNECT_SECONDS
    with image(endpoint, scratch) as opened, _environment(endpoint, scratch) as environment:
        try:
            return await ask(opened, seconds, environment)
        except CommandTimeout:
            message = f"{_server(endpoint)} did not answer in {seconds:g} s for {describe(endpoint)}"
            raise refusal(volume, "Unreachable", message) from None
        except CommandFailed as failure:
            raise _translated(volume, endpoint, failure.stderr) from None


@contextlib.contextmanager
def _environment(endpoint: Network, scratch: Path) -> Iterator[dict[str, str]]:
    """What a tool of QEMU's is started with, so that it ends in time and says in English what it did not like."""
    environment = {**os.environ, "LC_ALL": "C"}
    if endpoint.protocol != "rbd":
        yield environment
        return
    path = scratch / f"ceph-{secrets.token_hex(8)}.conf"
    own = Path(os.environ.get("CEPH_CONF") or _CEPH_CONF)
    try:
        path.write_text((own.read_text() if own.exists() else "") + _CEPH_OPTIONS)
        yield environment | {"CEPH_CONF": str(path)}
    finally:
        path.unlink(missing_ok=True)


async def _connect(volume: str, endpoint: Network) -> None:
    """Makes sure that one of the hosts answers; libraries take minutes to notice that none does."""
    said = []
    for host in endpoint.hosts:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS / len(endpoint.hosts)):
                _, writer = await asyncio.open_connection(host.host, host.port)
        except TimeoutError:
            said.append(f"{host.host}:{host.port} does not answer")
        except OSError as error:
            said.append(f"{host.host}:{host.port}: {_words(error)}")
        else:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return
    message = f"{_server(endpoint)} cannot be reached for {describe(endpoint)} ({'; '.join(said)}): see that it runs"
    raise refusal(volume, "Unreachable", message)


def _words(error: OSError) -> str:
    """The system's own words; asyncio puts others in their place, and name servers have numbers below zero."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def _server(endpoint: Network) -> str:
    return f"the {_SERVERS[endpoint.protocol]}"


def _translated(volume: str, endpoint: Network, stderr: str) -> DiskFault:
    """What QEMU's tool said, as one of our reasons. Its words begin with the image's options, which nobody needs."""
    said = "cephx: Permission denied" if _CEPH_DENIED in stderr else " ".join(_OPTIONS.split(stderr)[-1].split())
    server, thing = _server(endpoint), describe(endpoint)
    if any(word in said for word in _DENIED):
        message = f"{server} does not let us in to {thing} ({said}): check the Secret that secretRef names"
        return refusal(volume, "AccessDenied", message)
    if any(word in said for word in _ABSENT):
        return refusal(volume, "NotFound", f"{server} has no {thing} ({said}): correct its name, or create it")
    return refusal(volume, "Unreachable", f"{server} does not serve {thing} ({said}): see that it runs and is well")
