"""Which claims may be uploaded to, and where the bytes go."""

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_direct
from ingot.api.object import Object, uid_of
from ingot.api.resources import UPLOAD_SOURCES


def is_target(claim: Object) -> bool:
    """Whether a claim is filled by an upload."""
    return bool(source_name(claim)) or is_direct(claim)


def source_name(claim: Object) -> str:
    """The VolumeUploadSource that a claim names; "" for one that names none."""
    source = claim["spec"].get("dataSourceRef") or {}
    is_named = source.get("apiGroup") == UPLOAD_SOURCES.group and source.get("kind") == UPLOAD_SOURCES.kind
    return str(source["name"]) if is_named else ""


def pod_name(claim: Object) -> str:
    """The pod that takes the upload to a claim, and the Secret that it proves itself with."""
    return direct_pod_name(claim) if is_direct(claim) else f"{names.UPLOADER_PREFIX}{names.prime_name(claim)}"


def direct_pod_name(claim: Object) -> str:
    """The same of a claim that takes its upload itself, also once its annotation is gone."""
    return f"{names.UPLOADER_PREFIX}{uid_of(claim)}"
