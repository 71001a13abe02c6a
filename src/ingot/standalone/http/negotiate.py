"""Which form of an answer the client asked for."""

from dataclasses import dataclass
from functools import lru_cache

from ingot.api.status import ApiError

JSON = "application/json"
YAML = "application/yaml"


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is "" for the object itself, else Table, PartialObjectMetadata or PartialObjectMetadataList."""

    media: str = JSON
    kind: str = ""


@lru_cache(maxsize=256)
def negotiate(accept: str) -> Form:
    """The first form in an Accept header that this server can give."""
    if not accept:
        return Form()
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media in ("*/*", "application/*"):
            media = JSON
        if media not in (JSON, YAML):
            continue
        kind = options.get("as", "")
        if not kind:
            return Form(media)
        known = kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
        if known and options.get("g") == "meta.k8s.io" and options.get("v") in ("v1", "v1beta1"):
            return Form(media, kind)
    raise ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml",
    )
