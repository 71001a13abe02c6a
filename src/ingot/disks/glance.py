"""The size of an image from a daemon that has it open and is then killed, not asked to close it.

GlusterFS's library opens a file in 20 ms and takes 10 s to close one. Every other tool of QEMU's closes before it
speaks.
"""

import asyncio
import contextlib
import json

from ingot.disks.imageopts import Image
from ingot.host.command import CommandFailed, CommandTimeout

_DAEMON = "qemu-storage-daemon"
_QUESTIONS = ({"execute": "qmp_capabilities"}, {"execute": "query-named-block-nodes", "arguments": {"flat": True}})
# One answer holds the image's options several times over.
_MOST_LINE = 1 << 20


async def size(image: Image, seconds: float, environment: dict[str, str]) -> int:
    """The virtual size of an image in bytes. Raises CommandFailed and CommandTimeout."""
    options = json.loads(image.name.removeprefix("json:")) | {"node-name": "image", "read-only": True}
    process = await asyncio.create_subprocess_exec(
        *(_DAEMON, *image.arguments, "--blockdev", json.dumps(options)),
        *("--chardev", "stdio,id=monitor", "--monitor", "monitor"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_MOST_LINE,
        env=environment,
    )
    try:
        return await asyncio.wait_for(_ask(process), seconds)
    except TimeoutError:
        raise CommandTimeout(_DAEMON, seconds) from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ask(process: asyncio.subprocess.Process) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    # It reads the questions once the image is open; when that failed it never does.
    with contextlib.suppress(ConnectionError):
        process.stdin.write("".join(map(json.dumps, _QUESTIONS)).encode())
        await process.stdin.drain()
    async for line in process.stdout:
        nodes = json.loads(line).get("return")
        if isinstance(nodes, list):
            return next(int(node["image"]["virtual-size"]) for node in nodes if node["node-name"] == "image")
    said = (await process.stderr.read()).decode(errors="replace")
    raise CommandFailed(_DAEMON, await process.wait(), said)
