"""Manifests, indexes, configurations, challenges and references from anywhere."""

import contextlib

from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.challenge import parse_challenges
from ingot.images.registry.config import decode_config
from ingot.images.registry.manifest import INDEXES, MANIFESTS, decode, encode

_TYPES = ("", *MANIFESTS, *INDEXES)


def one_input(data: bytes) -> None:
    """What is accepted is the same when it is written and read again; all else is an ImageFault."""
    kind = _TYPES[data[0] % len(_TYPES)] if data else ""
    try:
        document = decode(data[1:], kind, "fuzz")
    except ImageFault:
        document = None
    if document:
        # Whether this is an index may be the registry's word alone, which `encode` writes down.
        assert encode(decode(encode(document), "", "fuzz")) == encode(document)
    with contextlib.suppress(ImageFault):
        decode_config(data, "fuzz")
    text = data.decode("utf-8", "replace")
    parse_challenges([text])
    try:
        reference = Reference.parse(text)
    except ImageFault:
        return
    assert Reference.parse(str(reference)) == reference
