"""How a golden image stands, in a word and in a sentence."""

from ingot.api.object import Object
from ingot.cli.golden.found import Golden, target
from ingot.cli.golden.kept import Kept
from ingot.control.golden.imports import Import
from ingot.kube.objects import condition, is_true

UP_TO_DATE, READY = "UpToDate", "Ready"
_IMPORTING = "ImportProgressing"
# Reasons of UpToDate for which somebody has to do something, or to know.
_WORDS = {
    "Pinned": "pinned",
    "BadPin": "bad pin",
    _IMPORTING: "importing",
    "Outdated": "outdated",
    "Unreachable": "unreachable",
    "ImportFailed": "failing",
    "Conflict": "conflict",
    "Unmanaged": "unmanaged",
    "Deleting": "deleting",
}
_QUIET = ("Pinned", "Unmanaged", _IMPORTING, "NoImport", "UpToDate")


def is_ready(golden: Golden) -> bool:
    """Whether it can be cloned."""
    return bool(golden.link and is_true(golden.link, READY))


def word(golden: Golden) -> str:
    """What is special about it; "" for nothing."""
    said = condition(golden.cron or {}, UP_TO_DATE) or {}
    if said.get("status") == "True":
        return "pinned" if golden.pinned else ""
    return _WORDS.get(str(said.get("reason")), "")


def problem(golden: Golden) -> str:
    """What somebody has to see to, in the words of its conditions; "" for nothing.

    A name that nobody has given an image yet is ready for one: common templates bring some.
    """
    said = condition(golden.cron or {}, UP_TO_DATE) or {}
    is_quiet = said.get("reason") in _QUIET and not (said.get("reason") == _IMPORTING and _is_stuck(golden))
    if said.get("status") not in (None, "True") and not is_quiet:
        return str(said.get("message") or said.get("reason"))
    if _dangles(golden) or is_ready(golden) or said.get("reason") in (_IMPORTING, "NoImport"):
        return ""
    return str((condition(golden.link or {}, READY) or {}).get("message") or "")


def _is_stuck(golden: Golden) -> bool:
    """Whether an import does not get on, by the rule of those who make it."""
    imports = [Import(one.volume, one.holder) for one in golden.kept]
    return any(each.is_under_way and each.is_stuck for each in imports)


def _dangles(golden: Golden) -> bool:
    """Whether it is for whoever fills a claim of its name, as nobody has yet."""
    return not golden.cron and not golden.current and target(golden.link) in (None, (golden.namespace, golden.name))


def state_of(one: Kept, golden: Golden) -> str:
    """What a version is to its image: current, pinned, kept, out of reach, failed, or how far its import or upload
    is."""
    if one.has_failed:
        return "failed"
    if not one.is_usable:
        source = (one.volume or {}).get("spec", {}).get("source") or {}
        return f"{'uploading' if 'upload' in source else 'importing'} {one.progress}".strip()
    current = golden.current
    is_pinned = golden.pinned and one.digest == golden.pinned
    if current is not None and one.key == current.key:
        return "pinned" if is_pinned else "current"
    if not golden.reaches(one):
        return "out of reach"
    is_there = current is not None and current.digest == golden.pinned
    return "pinned soon" if is_pinned and not is_there else "kept"


def source_of(golden: Golden) -> str:
    """Where its versions come from, without what may be a credential; "" where nothing follows it."""
    from ingot.images.registry.address import public

    template: Object = (golden.cron or {}).get("spec", {}).get("template", {}).get("spec", {})
    for source in (template.get("source") or {}).values():
        return public(str(source.get("url") or source.get("imageStream") or ""))
    return ""
