"""A worker as the process that listens sees it: started, asked, given clients, ended."""

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import sys
from typing import Any

from ingot.images.fault import ImageFault
from ingot.serve import channel
from ingot.serve.totals import Totals

# A worker that does not answer for so long is stuck.
ANSWER_SECONDS = 60.0
# A report is made from memory.
REPORT_SECONDS = 5.0


class WorkerLost(Exception):
    """The worker ended, or does not answer."""


class Link:
    """`clients`: how many it serves. `ended` is set when the process is gone; `untaken` are then those clients that it
    was given and did not take."""

    def __init__(self, process: asyncio.subprocess.Process, end: socket.socket) -> None:
        self._process = process
        self._end = end
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[int, Totals] = {}
        self.clients = 0
        self.untaken: dict[int, tuple[socket.socket, str]] = {}
        self.totals = Totals()
        self.ended = asyncio.Event()

    @classmethod
    async def start(cls, settings: dict[str, Any]) -> "Link":
        """Starts a process, which knows its settings and no exports."""
        ours, theirs = channel.pair()
        with theirs:
            theirs.set_inheritable(True)
            number = theirs.fileno()
            command = [sys.executable, "-P", "-m", "ingot.serve.worker", str(number)]
            process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, pass_fds=[number]
            )
        ours.setblocking(False)
        link = cls(process, ours)
        asyncio.get_running_loop().add_reader(ours, link._receive)
        link._send({**settings, "parent": os.getpid()})
        return link

    @property
    def number(self) -> int:
        return self._process.pid

    async def ask(self, message: dict[str, Any], seconds: float | None = ANSWER_SECONDS) -> dict[str, Any]:
        """Its answer; None: however long that takes. Raises WorkerLost, and ImageFault for a refusal."""
        number = next(self._numbers)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({**message, "id": number})
            answer = await asyncio.wait_for(future, seconds)
        except TimeoutError:
            raise WorkerLost(f"worker {self.number} does not answer") from None
        finally:
            self._waiting.pop(number, None)
        if "fault" in answer:
            raise ImageFault(*answer["fault"])
        return answer

    def lead(self) -> None:
        """Has it fetch images ahead of their readers, for all workers. Raises WorkerLost."""
        self._send({"do": "lead"})

    async def report(self) -> None:
        """Brings `totals` up to date, where it answers."""
        with contextlib.suppress(WorkerLost):
            await self.ask({"do": "report"}, REPORT_SECONDS)

    def give(self, client: socket.socket, peer: str) -> None:
        """Hands a client over. Raises WorkerLost; the client is then still ours."""
        number = next(self._numbers)
        self._send({"do": "client", "id": number, "peer": peer}, [client.fileno()])
        self.untaken[number] = (client, peer)
        self.clients += 1

    async def stop(self, seconds: float) -> None:
        """Lets it finish what it was asked for, and ends it after that time in any case."""
        with contextlib.suppress(WorkerLost):
            self._send({"do": "end", "seconds": seconds})
        try:
            await asyncio.wait_for(self._process.wait(), seconds + 2)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def kill(self) -> None:
        """Ends it at once."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def watch(self) -> None:
        """Waits until the process is gone."""
        await self._process.wait()
        self._lose()

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            channel.send(self._end, message, descriptors or [])
        except OSError as error:
            # That includes a worker that does not take its messages any more.
            raise WorkerLost(f"worker {self.number}: {error}") from error

    def _receive(self) -> None:
        try:
            received = channel.receive(self._end)
        except BlockingIOError:
            return
        except OSError:
            received = None
        if received is None:
            self._lose()
            return
        message = received[0]
        if "left" in message:
            self.clients -= message["left"]
        elif "taken" in message:
            self.untaken.pop(message["taken"])[0].close()
        elif "page" in message:
            self._pages.setdefault(message["id"], Totals()).read(message["page"])
        else:
            self._answered(message)

    def _answered(self, message: dict[str, Any]) -> None:
        if message["id"] in self._pages:
            self.totals = self._pages.pop(message["id"])
        future = self._waiting.get(message["id"])
        if future is not None and not future.done():
            future.set_result(message)

    def _lose(self) -> None:
        if self.ended.is_set():
            return
        self.ended.set()
        asyncio.get_running_loop().remove_reader(self._end)
        self._end.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(WorkerLost(f"worker {self.number} has ended"))
