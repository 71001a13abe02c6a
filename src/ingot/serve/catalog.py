"""The exports of a server by name; each is open while somebody uses it, once for all of them."""

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path

from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source
from ingot.serve.entry import Entry
from ingot.serve.export import Export
from ingot.serve.folder import Folder
from ingot.serve.opening import Opener
from ingot.serve.tally import Tally
from ingot.serve.totals import Totals

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Slot:
    """An export that is open, or being opened by whoever has the lock."""

    users: int = 0
    export: Export | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(slots=True)
class _Listed:
    """An entry with what is open of it, by the name of the file in a folder, or by the empty name; `faults`: why what
    could not be opened last could not. `progress`: bytes done and in all, where it is being opened and that takes
    long. `totals`: what was done for clients that have gone. `final`: the fault of one that comes over a network, and
    would fail again after as many bytes."""

    entry: Entry
    folder: Folder | None
    slots: dict[str, _Slot] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    gone: bool = False
    progress: tuple[int, int] | None = None
    totals: Totals = field(default_factory=Totals)
    final: tuple[str, str, str] | None = None

    def advance(self, done: int, whole: int) -> None:
        """Takes note of that. Raises ImageFault when it is opened for nobody any more."""
        if self.gone:
            raise ImageFault(repr(self.entry.name), "Removed", "it was removed while it was opened")
        self.progress = (done, whole)

    def name(self, file: str) -> str:
        """What clients call it."""
        return f"{self.entry.name}/{file}".strip("/") if file else self.entry.name

    def failed(self, file: str, error: OSError | ImageFault) -> None:
        """Something cannot be opened. What is on this machine may have changed when somebody asks again."""
        self._tell(file, str(error))
        afar = Source.parse(self.entry.source).kind is not Kind.FILE
        if afar and isinstance(error, ImageFault) and error.final and not self.gone:
            self.final = (error.subject, error.reason, error.message)

    def _tell(self, file: str, fault: str) -> None:
        """Logs why something cannot be opened, once until that changes: clients that list open all there is."""
        if self.faults.get(file) != fault:
            self.faults[file] = fault
            _log.error("export %r cannot be opened: %s", self.name(file), fault)


class Lease:
    """An export in use. `name` is what it is called, whatever the client called it; `entry` is what it belongs to."""

    def __init__(self, catalog: "Catalog", listed: _Listed, file: str, export: Export) -> None:
        self._catalog = catalog
        self._listed = listed
        self._file = file
        self.export = export
        self.entry = listed.entry
        self.name = listed.name(file)

    @property
    def gone(self) -> bool:
        """Whether the entry was removed."""
        return self._listed.gone

    def count(self, tally: Tally) -> None:
        """What was done for whoever used it. May be called when it is released; goes with the entry."""
        self._catalog._count(self._listed, self.name, tally)

    def release(self) -> None:
        """Must be called once."""
        self._catalog._release(self._listed, self._file)


class Catalog:
    """Used by several threads."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._lock = threading.Lock()
        self._listed: dict[str, _Listed] = {}

    def add(self, entry: Entry) -> None:
        """Lists it. Raises ImageFault when there is one of that name, or when it cannot be served, and OSError."""
        entry.check()
        with self._lock:
            if entry.name in self._listed:
                raise ImageFault(repr(entry.name), "Exists", "there is an export of this name already; remove it first")
        folder = None
        source = Source.parse(entry.source)
        if source.kind is Kind.FILE and Path(source.place).is_dir():
            if entry.writable:
                raise ImageFault(entry.source, "ReadOnly", "a directory is served read-only; name a file in it")
            folder = Folder(Path(source.place))
        elif not entry.name:
            raise ImageFault(str(source), "BadName", "only a directory is served without a name")
        with self._lock:
            self._listed[entry.name] = _Listed(entry, folder)

    def remove(self, name: str) -> None:
        """Leases go on until they are released. Raises KeyError."""
        with self._lock:
            listed = self._listed.pop(name)
            listed.gone = True
            idle = not listed.slots
        if idle and listed.folder is not None:
            listed.folder.close()

    def is_folder(self, name: str) -> bool:
        """Whether the entry of that name is a directory. Raises KeyError."""
        with self._lock:
            return self._listed[name].folder is not None

    def preparing(self) -> dict[str, tuple[int, int]]:
        """What is being opened and takes long: bytes done and in all."""
        with self._lock:
            return {name: listed.progress for name, listed in self._listed.items() if listed.progress is not None}

    def totals(self) -> Totals:
        """What was counted for the leases of what is listed."""
        summed = Totals()
        with self._lock:
            for listed in self._listed.values():
                summed.merge(listed.totals)
        return summed

    def names(self) -> list[str]:
        """What can be asked for, as far as that is listed."""
        with self._lock:
            all_listed = list(self._listed.values())
        names: list[str] = []
        for listed in all_listed:
            if listed.folder is None:
                names.append(listed.entry.name)
            else:
                names += [listed.name(file) for file in self._files(listed.folder)]
        return names

    def take(self, name: str) -> Lease:
        """Opens an export. The empty name is the only one, where there is only one. Raises KeyError when there is none
        of that name, ImageFault or OSError when it cannot be opened. After a final fault that is not tried again for as
        long as it is listed, where it comes over a network."""
        with self._lock:
            listed, file = self._find(name)
            slot = listed.slots.setdefault(file, _Slot())
            slot.users += 1
        try:
            with slot.lock:
                if slot.export is None:
                    slot.export = self._open(listed, file)
                return Lease(self, listed, file, slot.export)
        except BaseException:
            self._release(listed, file)
            raise

    def _find(self, name: str) -> tuple[_Listed, str]:
        if not name and "" not in self._listed and len(self._listed) == 1:
            name = next(iter(self._listed))
        listed = self._listed.get(name)
        if listed is not None and listed.folder is None:
            return listed, ""
        above, slash, file = name.rpartition("/")
        listed = self._listed.get(above)
        if listed is None or listed.folder is None or not file or bool(slash) != bool(above):
            raise KeyError(name)
        return listed, file

    def _open(self, listed: _Listed, file: str) -> Export:
        if listed.final is not None:
            raise ImageFault(*listed.final)
        try:
            if listed.folder is None:
                export = self._opener.open(listed.entry, listed.advance)
            else:
                descriptor = listed.folder.open(file)
                export = self._opener.show(descriptor, f"{listed.entry.source}/{file}", listed.entry)
            listed.faults.pop(file, None)
            return export
        except (OSError, ImageFault) as error:
            listed.failed(file, error)
            raise
        finally:
            listed.progress = None

    def _count(self, listed: _Listed, name: str, tally: Tally) -> None:
        with self._lock:
            listed.totals.add(name, tally)

    def _release(self, listed: _Listed, file: str) -> None:
        with self._lock:
            slot = listed.slots[file]
            slot.users -= 1
            if slot.users:
                return
            del listed.slots[file]
            last = listed.gone and not listed.slots
        if slot.export is not None:
            slot.export.close()
        if last and listed.folder is not None:
            listed.folder.close()

    def _files(self, folder: Folder) -> list[str]:
        try:
            return folder.names()
        except OSError as error:
            _log.error("a directory cannot be listed: %s", error)
            return []
