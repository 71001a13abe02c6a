"""What this node holds for one instance: a directory, and in it a note that outlives the agent."""

import json
import logging
import shutil
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Self

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.host.files import make_passable, write_atomically
from ingot.kube.cache import Key
from ingot.node.domain.document import Origin, domain_name
from ingot.node.emulators import emulators

log = logging.getLogger(__name__)

NOTE = "record.json"
CONSOLE = "console"


@dataclass(slots=True)
class Record:
    """One instance on this node.

    `started`: a domain was made, so that its absence means that it has ended. `stop_asked`: when the guest was asked
    to shut down, in seconds since 1970, 0 when it was not. `volumes`: what its status says of each volume.
    """

    directory: Path = field(repr=False)
    uid: str
    namespace: str
    name: str
    domain: str
    pod_uid: str = ""
    started: bool = False
    stop_asked: float = 0.0
    volumes: list[Object] = field(default_factory=list)
    # Of this agent's life only: before that moment (monotonic) a start is not tried again.
    next_try: float = field(default=0.0, compare=False)

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def console(self) -> Path:
        """The socket of the first serial port."""
        return self.directory / CONSOLE

    def save(self) -> None:
        """Writes the note, and makes the directory when it is not there."""
        make_passable(self.directory)
        note = {key: value for key, value in asdict(self).items() if key not in ("directory", "next_try")}
        write_atomically(self.directory / NOTE, json.dumps(note).encode())

    @classmethod
    def load(cls, directory: Path) -> Self | None:
        """The record of that directory; None when there is none, or none that can be read.

        What another version has written besides is left out.
        """
        known = {each.name for each in fields(cls)} - {"directory", "next_try"}
        try:
            note = json.loads((directory / NOTE).read_bytes())
            return cls(directory=directory, **{key: value for key, value in note.items() if key in known})
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, AttributeError) as error:
            log.error("%s cannot be read, and is left alone: %s", directory / NOTE, error)
            return None


class Records:
    """All instances of this node, one directory each. Only one process may use it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        make_passable(directory)
        self._records: dict[str, Record] = {}
        for place in directory.iterdir():
            if record := Record.load(place):
                self._records[record.uid] = record
            elif not (place / NOTE).exists() and place.name not in emulators():
                # The note is the first thing that is written: without it nothing else was.
                shutil.rmtree(place, ignore_errors=True)

    def get(self, uid: str) -> Record | None:
        return self._records.get(uid)

    def all(self) -> list[Record]:
        return list(self._records.values())

    def of(self, key: Key) -> list[Record]:
        """Those of one name: an instance, and what may be left of its predecessors."""
        return [record for record in self._records.values() if record.key == key]

    def make(self, instance: Object, pod_uid: str) -> Record:
        """The record of a new instance, saved."""
        uid = uid_of(instance)
        named = (namespace_of(instance), name_of(instance), domain_name(instance))
        return self._add(Record(self._directory / uid, uid, *named, pod_uid))

    def lacks(self, origin: Origin) -> bool:
        """Whether there is no record of a domain that was made here; one with its sockets elsewhere is somebody's."""
        place = self._directory / origin.uid
        return origin.uid not in self._records and origin.directory == place and place.parent == self._directory

    def adopt(self, domain: str, origin: Origin) -> Record:
        """The record of a domain that lacks one, saved."""
        named = (origin.namespace, origin.name, domain)
        return self._add(Record(origin.directory, origin.uid, *named, started=True))

    def _add(self, record: Record) -> Record:
        record.save()
        self._records[record.uid] = record
        return record

    def remove(self, record: Record) -> None:
        """Forgets an instance, and removes its directory with everything in it."""
        shutil.rmtree(record.directory, ignore_errors=True)
        self._records.pop(record.uid, None)
