"""Golden images as the server would tell of them."""

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.cli.golden.found import Golden, assemble
from ingot.cli.golden.kept import Kept

PLACE = "golden-images"


def digest(number: int) -> str:
    return "sha256:" + f"{number:x}" * 64


def made(number: int, tag: str = "latest", phase: str = "Succeeded") -> Object:
    """The DataVolume of a version: with a higher number it is newer."""
    notes = {names.DESIRED_DIGEST: digest(number), names.VERSION: tag}
    when = f"2026-01-0{number}T00:00:00Z"
    labels = {names.IMPORT_CRON: "fedora"}
    name = f"fedora-{digest(number)[7:19]}"
    head = {"name": name, "namespace": PLACE, "annotations": notes, "labels": labels, "creationTimestamp": when}
    return {"metadata": head, "spec": {}, "status": {"phase": phase}}


def link(number: int, ready: str = "True") -> Object:
    source = {"pvc": {"namespace": PLACE, "name": f"fedora-{digest(number)[7:19]}"}}
    status = {"conditions": [{"type": "Ready", "status": ready, "message": "it is not there"}]}
    return {"metadata": {"name": "fedora", "namespace": PLACE}, "spec": {"source": source}, "status": status}


def cron(reason: str = "UpToDate", **notes: str) -> Object:
    told = {"type": "UpToDate", "status": str(reason == "UpToDate"), "reason": reason, "message": f"it is {reason}"}
    template = {"spec": {"source": {"registry": {"url": "docker://reader:word@far/fedora"}}}}
    return {
        "metadata": {"name": "fedora", "namespace": PLACE, "annotations": notes},
        "spec": {"managedDataSource": "fedora", "template": template},
        "status": {"conditions": [told]},
    }


def golden(current: int, *versions: Object, follower: Object | None = None) -> Golden:
    (found,) = assemble([link(current)], [follower or cron()], [Kept(each, None) for each in versions])
    return found
