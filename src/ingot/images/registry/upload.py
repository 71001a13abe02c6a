"""Pushing blobs: as a stream whose digest is found on the way, or without sending them, where they are there."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from ingot.images.blob import Bytes
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.manifest import Descriptor
from ingot.images.registry.refusal import refusal
from ingot.images.registry.repository import Repository
from ingot.images.registry.retry import Backoff
from ingot.images.registry.session import Session, UploadLost

Progress = Callable[[int, int], None]


def mount(repository: Repository, digest: Digest, source: str, subject: str) -> bool:
    """Whether the registry has taken the blob over from its other repository `source`. Raises ImageFault."""
    path = f"{repository.name}/blobs/uploads/?mount={quote(str(digest))}&from={quote(source, safe='')}"
    try:
        response = repository.endpoint.send("POST", path, repository.scope("pull,push", source), subject, body=b"")
    except ImageFault as fault:
        # Whoever may push here need not be allowed to read there.
        if fault.reason != "Unauthorized":
            raise
        return False
    if response.status == 201:
        response.discard()
        return True
    if response.status == 202:
        # The registry began an upload instead, which nobody is going to finish.
        Session(repository, subject, response).cancel()
        return False
    if response.status in (401, 403, 404):
        response.discard()
        return False
    raise refusal(response)


def push_blob(
    repository: Repository,
    source: Iterable[Bytes],
    subject: str,
    *,
    media_type: str,
    digest: Digest | None = None,
    progress: Progress | None = None,
    total: int = 0,
) -> Descriptor:
    """Sends what `source` gives. Its digest is found on the way; one that is given must be it.

    A lost connection is made up for; where the registry cannot go on with an upload, `source` is read once more from
    its start, if it can be. Nothing is in the registry before the last byte is, and after a fault no upload is left.
    Raises ImageFault, and what `source` raises.
    """
    backoff = Backoff(repository.endpoint.transport.settings)
    while True:
        try:
            found, size = _push(repository, source, subject, digest, progress, total)
            return Descriptor(media_type=media_type, digest=found, size=size)
        except UploadLost as fault:
            if isinstance(source, Iterator):
                raise
            backoff.wait(fault)


def _push(
    repository: Repository,
    source: Iterable[Bytes],
    subject: str,
    digest: Digest | None,
    progress: Progress | None,
    total: int,
) -> tuple[Digest, int]:
    session = Session(repository, subject)
    hasher = hashlib.sha256()
    try:
        for piece in _pieces(source, session.piece):
            hasher.update(piece)
            session.send(piece)
            if progress:
                progress(session.sent, total)
        found = Digest("sha256", hasher.hexdigest())
        if digest and digest != found:
            raise ImageFault(subject, "WrongDigest", f"what is pushed is {found}, and not {digest}, which it should be")
        session.commit(found)
    except BaseException:
        session.cancel()
        raise
    return found, session.sent


def _pieces(source: Iterable[Bytes], size: int) -> Iterator[memoryview]:
    """The same bytes in pieces of one size. A piece lasts until the next is asked for."""
    buffer = memoryview(bytearray(size))
    filled = 0
    for data in source:
        view = memoryview(data).cast("B")
        while len(view):
            count = min(len(view), size - filled)
            buffer[filled : filled + count] = view[:count]
            filled += count
            view = view[count:]
            if filled == size:
                yield buffer
                filled = 0
    if filled:
        yield buffer[:filled]
