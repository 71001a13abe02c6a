"""A process that serves: it is given exports and connected sockets by the one that listens, and ends with it."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from ingot.host.parent import end_with
from ingot.images.fault import ImageFault
from ingot.serve import channel
from ingot.serve.afar import Afar, AfarOptions
from ingot.serve.catalog import Catalog
from ingot.serve.descriptors import as_many_as_allowed
from ingot.serve.entry import Entry
from ingot.serve.guest import Guest
from ingot.serve.holding import Holding
from ingot.serve.opening import Opener
from ingot.serve.security import Contexts, Security

_log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = 20.0
# When more clients than this have not yet said what they want, the oldest one of them is sent away.
_MOST_HANDSHAKES = 64
_TICK_SECONDS = 1.0
# Besides what clients have at the end: who waits for us waits two seconds longer than that.
_CLOSE_SECONDS = 1.0


class Worker:
    """Does what the process that listens says over `end`."""

    def __init__(self, end: socket.socket, settings: dict[str, Any]) -> None:
        self._end = end
        self._sending = threading.Lock()
        self._afar = Afar(AfarOptions.from_record(settings["afar"]), settings["processes"])
        self._catalog = Catalog(Opener(self._afar))
        security = settings["security"]
        self._contexts = Contexts(Security.from_record(security)) if security else None
        self._lock = threading.Lock()
        self._guests: dict[Guest, threading.Thread] = {}
        self._holding = Holding(self._catalog)

    def run(self) -> None:
        """Returns when it was told to end, and has."""
        self._end.settimeout(_TICK_SECONDS)
        while True:
            try:
                received = channel.receive(self._end)
            except TimeoutError:
                self._expire()
                continue
            if received is None:
                return
            message, descriptors = received
            match message["do"]:
                case "client":
                    self._tell({"taken": message["id"]})
                    self._welcome(descriptors, message["peer"])
                case "add":
                    self._begin(message, self._add)
                case "open":
                    self._begin(message, self._open)
                case "remove":
                    self._begin(message, self._remove)
                case "lead":
                    self._afar.lead()
                case "dismiss":
                    self._begin(message, self._dismiss)
                case "report":
                    self._report(message["id"])
                case "end":
                    self._leave(message["seconds"])
                    return

    def _welcome(self, descriptors: list[int], peer: str) -> None:
        if not descriptors:
            _log.error("%s is lost: there are too many open files", peer)
            self._tell({"left": 1})
            return
        connection = socket.socket(fileno=descriptors[0])
        self._expire()
        security = self._contexts.current() if self._contexts else None
        guest = Guest(connection, peer, self._catalog, security, HANDSHAKE_SECONDS)
        thread = threading.Thread(target=self._host, args=(guest,), daemon=True)
        with self._lock:
            self._guests[guest] = thread
        try:
            thread.start()
        except RuntimeError as error:
            _log.error("%s is sent away: %s", peer, error)
            connection.close()
            self._forget(guest)

    def _host(self, guest: Guest) -> None:
        try:
            guest.serve()
        except Exception:
            _log.exception("%s: its connection is closed", guest.peer)
        finally:
            self._forget(guest)

    def _forget(self, guest: Guest) -> None:
        with self._lock:
            del self._guests[guest]
            if guest.agreed is not None:
                guest.agreed.lease.count(guest.tally)
        self._tell({"left": 1})

    def _expire(self) -> None:
        """Sends those away who take too long to say what they want, or are too many."""
        with self._lock:
            silent = [guest for guest in self._guests if guest.deadline is not None]
        now = time.monotonic()
        crowd = len(silent) - _MOST_HANDSHAKES
        for place, guest in enumerate(silent):
            if place < crowd or (guest.deadline or now) < now:
                guest.expire()

    def _add(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"folder": self._holding.add(Entry.from_record(message["entry"]), message["pin"])}

    def _open(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"size": self._holding.open(message["name"])}

    def _remove(self, message: dict[str, Any]) -> dict[str, Any]:
        self._holding.remove(message["name"])
        return {}

    def _dismiss(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sends the clients of an export away that was removed; those of another one of its name stay."""
        guests = [guest for guest in self._current() if _removed(guest, message["name"])]
        self._send_away(guests, True, message["seconds"])
        return {}

    def _leave(self, seconds: float) -> None:
        self._send_away(self._current(), False, seconds)
        self._holding.close(_CLOSE_SECONDS)

    def _send_away(self, guests: list[Guest], gone: bool, seconds: float) -> None:
        """Ends them after what they were asked for so far, those who take longer in the middle of it."""
        with self._lock:
            threads = [self._guests[guest] for guest in guests if guest in self._guests]
        for guest in guests:
            guest.leave(gone)
        deadline = time.monotonic() + seconds
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for guest in guests:
            guest.expire()

    def _current(self) -> list[Guest]:
        with self._lock:
            return list(self._guests)

    def _report(self, number: int) -> None:
        with self._lock:
            totals = self._catalog.totals()
            for guest in self._guests:
                if guest.agreed is not None and not guest.agreed.lease.gone:
                    totals.add(guest.agreed.lease.name, guest.tally)
                    totals.present(guest.agreed.lease.name)
        self._holding.report(totals)
        for page in totals.pages():
            self._tell({"id": number, "page": page})
        self._tell({"id": number})

    def _begin(self, message: dict[str, Any], work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Answers in a thread of its own."""
        try:
            threading.Thread(target=self._answer, args=(message, work), daemon=True).start()
        except RuntimeError as error:
            self._tell({"id": message["id"], "fault": _failed(error)})

    def _answer(self, message: dict[str, Any], work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        answer: dict[str, Any] = {"id": message["id"]}
        try:
            answer |= work(message)
        except KeyError:
            answer["fault"] = (repr(message["name"]), "NotFound", "there is no export of this name", False)
        except ImageFault as fault:
            answer["fault"] = (fault.subject, fault.reason, fault.message, fault.retry)
        except OSError as error:
            answer["fault"] = (str(error.filename or repr(message.get("name"))), "Failed", str(error.strerror), True)
        except Exception as error:
            _log.exception("a question of the process that listens cannot be answered")
            answer["fault"] = _failed(error)
        self._tell(answer)

    def _tell(self, message: dict[str, Any]) -> None:
        with self._sending:
            try:
                channel.send(self._end, message)
            except OSError as error:
                _log.debug("the process that listens is gone: %s", error)


def _failed(error: Exception) -> tuple[str, str, str, bool]:
    """What ImageFault is made of, for what is no fault of an export: it may succeed later."""
    return ("worker", "Failed", str(error), True)


def _removed(guest: Guest, name: str) -> bool:
    lease = guest.agreed.lease if guest.agreed is not None else None
    return lease is not None and lease.gone and lease.entry.name == name


def main() -> None:
    end = socket.socket(fileno=int(sys.argv[1]))
    received = channel.receive(end)
    if received is None:
        return
    settings = received[0]
    end_with(settings["parent"])
    # The one that listens decides when we end; Ctrl-C on a terminal reaches us, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    as_many_as_allowed()
    logging.basicConfig(level=settings["level"], format="%(levelname)s %(message)s")
    Worker(end, settings).run()
    # Threads that are in the middle of something must not keep us.
    logging.shutdown()
    os._exit(0)


if __name__ == "__main__":
    main()
