"""Servers that have just not answered: the crons of a namespace, of which there may be thousands, leave them alone.

Nobody's cron keeps those of another namespace from a server: it may have asked in a way that gets no answer. Nor does a
server that answers, and is broken, keep them from the rest of what it has: that may be one bad file. One that has been
asked too often has been so by all of them.
"""

from typing import Final, NamedTuple

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.volumes.marks import annotation
from ingot.images.fault import ImageFault
from ingot.images.registry.retry import RATE_LIMITED
from ingot.kube.clock import SYSTEM, Clock

# What is wrong with a server or the way to it, and not with one thing that it has.
_OF_SERVER: Final = ("BadTls", "ConnectionLost", RATE_LIMITED, "TooSlow", "Unreachable")
# How long a server that did not answer one is not asked for another.
_REST_SECONDS: Final = 30.0


class Server(NamedTuple):
    """Who is asked, for whom. `kind` is registry or http, `host` its name with its port; `path` the repository or file
    that is asked for, "" for all that the server has."""

    namespace: str
    kind: str
    host: str
    path: str = ""

    @property
    def whole(self) -> "Server":
        return self._replace(path="")


class Silence:
    """Of all servers, in memory."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._until: dict[Server, tuple[float, ImageFault]] = {}

    def check(self, cron: Object, server: Server) -> None:
        """Raises ImageFault for a server that has just not answered another cron, unless somebody asks for a look."""
        if annotation(cron, names.CHECK_NOW) != annotation(cron, names.CHECKED):
            return
        for each in (server.whole, server):
            until, fault = self._until.get(each, (0.0, None))
            if fault is not None and self._clock.monotonic() < until:
                # What the other cron asks for is not told here.
                raise ImageFault(server.host, fault.reason, fault.message)

    def heard(self, server: Server) -> None:
        """It has answered."""
        for each in (server.whole, server):
            self._until.pop(each, None)

    def noted(self, server: Server, fault: ImageFault) -> None:
        """It has not answered, or has no time. Those that have had their rest are forgotten."""
        # A certificate that one does not trust may be one that another does.
        if not fault.retry and fault.reason != "Unreachable":
            return
        now = self._clock.monotonic()
        self._until = {each: known for each, known in self._until.items() if known[0] > now}
        silent = server.whole if fault.reason in _OF_SERVER else server
        self._until[silent] = now + _REST_SECONDS, fault
