"""What people have said of a cron, kept on its DataSource while an SSP makes the cron anew: a rollback outlives it."""

from typing import Final

import msgspec

from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.control.golden.ordered import given
from ingot.control.volumes.marks import annotation

# A question that was asked of the one is answered by the other.
_SAID: Final = (names.PINNED, names.PRERELEASES, names.CHECKSUM_FILE, names.CHECK_NOW, names.CHECKED)


class _Kept(msgspec.Struct):
    """`said` are the annotations of the cron of that uid."""

    uid: str
    said: dict[str, str]


def leave(source: Object, cron: Object) -> None:
    """Put on the DataSource what people say of a cron that goes, in place of what was there. What its template says,
    the next one has from that, if it still does."""
    notes = source["metadata"].setdefault("annotations", {})
    notes.pop(names.CRON_SAID, None)
    theirs = [key for key in _SAID if key not in given(cron).annotations]
    if said := {key: text for key in theirs if (text := annotation(cron, key))}:
        notes[names.CRON_SAID] = msgspec.json.encode(_Kept(uid_of(cron), said)).decode()


def said_of(source: Object | None) -> dict[str, str]:
    """What is kept there for the next cron."""
    kept = _read(source) if source else None
    return {key: text for key, text in kept.said.items() if key in _SAID} if kept else {}


def is_handed_over(source: Object | None, cron: Object) -> bool:
    """Whether something is kept there though the cron is the next one already."""
    kept = _read(source) if source else None
    return kept is not None and kept.uid != uid_of(cron)


def drop(source: Object) -> None:
    del source["metadata"]["annotations"][names.CRON_SAID]


def _read(source: Object) -> _Kept | None:
    """Anybody may write there: what cannot be read is nothing."""
    try:
        return msgspec.json.decode(annotation(source, names.CRON_SAID), type=_Kept)
    except (msgspec.MsgspecError, RecursionError):
        return None
