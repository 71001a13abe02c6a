"""Which form of an answer the client asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingot.api.status import ApiError
from ingot.standalone import protobuf
from ingot.standalone.remember import remember

JSON = "application/json"
YAML = "application/yaml"
# What Kubernetes names as its own; protobuf is read, but answers come in the others.
KNOWN = (JSON, YAML, protobuf.MEDIA)
YES = ("1", "t", "T", "true", "True", "TRUE")
PEOPLE = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is "" for the object itself, else Table, PartialObjectMetadata or PartialObjectMetadataList."""

    media: str = JSON
    kind: str = ""


@remember(256)
def negotiate(accept: str, custom: bool = False) -> Form:
    """The first form in an Accept header that this server can give; Kubernetes' own kinds know no `application/*`."""
    if not accept:
        return Form()
    clauses = accept.split(",")
    if not custom and not any(clause.partition(";")[0].strip() in ("*/*", *KNOWN) for clause in clauses):
        available = f"406: Not Acceptable\n\nAvailable representations: {', '.join(KNOWN)}"
        raise ApiError(406, "NotAcceptable", available, {})
    for clause in clauses:
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
    raise ApiError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(KNOWN)}")


def indented(query: Mapping[str, str], agent: str) -> bool:
    """Whether an answer is for people: they say so, or their program is one that people use."""
    asked = query.get("pretty")
    return asked in YES if asked else agent.startswith(PEOPLE)
