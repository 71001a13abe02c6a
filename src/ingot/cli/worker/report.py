"""What a worker leaves behind for its controller: one JSON document, as the last words of its container."""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingot.images.fault import ImageFault

log = logging.getLogger(__name__)

# Kubernetes takes no more.
MOST_BYTES = 4096
Tell = Callable[[Mapping[str, Any]], None]

# What passes by itself, or by another try: the source is read from its start, the other worker ends, a name comes up,
# others make room.
_PASSING = frozenset(("Changed", "DiskFull", "InUse", "Unreachable"))
# What the command line calls things, and what they are to those who wrote the volume's source.
_CURES = (
    ("log in with `docker login` or `podman login`, or use --auth-file", "name a Secret that it accepts in secretRef"),
    ("name its CA with --ca", "name a ConfigMap with its CA in certConfigMap"),
    ("--size only grows a disk, so give more, or leave it out", "request more storage for the volume"),
)


@contextmanager
def reporting(path: Path | None, names: Mapping[Path, str]) -> Iterator[Tell]:
    """The block tells how its work ended well; a fault of it is written to `path` and ends the process with 1.

    `names`: what a path is to those who know the volume, and not this process."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    told: dict[str, Any] = {}
    try:
        yield told.update
    except ImageFault as fault:
        _fail(path, fault.reason, words(fault, names), fault.retry or fault.reason in _PASSING)
    except OSError as error:
        _fail(path, "SystemError", f"{error.strerror or error}", True)
    except Exception as error:
        log.exception("this should not happen")
        _fail(path, "InternalError", f"the worker failed with {type(error).__name__}: its log says where", True)
    _write(path, told)


def words(fault: ImageFault, names: Mapping[Path, str]) -> str:
    """What is wrong, without paths of this machine."""
    text = str(fault)
    for path, name in names.items():
        # The path of an address is not one of ours, though it may look like that.
        text = re.sub(rf"(?<![\w./-]){re.escape(str(path))}(?![\w.-])", name, text)
    for ours, theirs in _CURES:
        text = text.replace(ours, theirs)
    return text


def _fail(path: Path | None, reason: str, message: str, retry: bool) -> None:
    sys.stderr.write(f"{reason}: {message}\n")
    _write(path, {"reason": reason, "message": message, "retry": retry})
    sys.exit(1)


def encode(document: Mapping[str, Any]) -> bytes:
    """At most MOST_BYTES: a message that is too long for that loses its end."""
    data = json.dumps(document, ensure_ascii=False).encode()
    message = str(document.get("message", ""))
    while len(data) > MOST_BYTES and message:
        message = message[: len(message) - max((len(data) - MOST_BYTES) // 4, 1)]
        data = json.dumps({**document, "message": f"{message}…"}, ensure_ascii=False).encode()
    return data


def _write(path: Path | None, document: Mapping[str, Any]) -> None:
    """In place: the file is mounted, and so cannot be replaced."""
    data = encode(document)
    if path is None:
        sys.stdout.write(f"{data.decode()}\n")
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        sys.stderr.write(f"no report can be left in {path}: {error.strerror}\n")
