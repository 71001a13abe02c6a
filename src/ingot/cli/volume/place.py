"""Where a volume's content comes from, as people name it on a command line."""

import click

from ingot.api.object import Object
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source

FORMS = "docker://HOST/REPOSITORY:TAG, http(s)://…, nbd://… or s3://BUCKET/KEY"


def read_source(text: str, secret: str = "", certificates: str = "", checksum: str = "") -> Object:
    """The source of a DataVolume; "" for what was not said. Raises BadParameter, which says what would be accepted."""
    kind, url = _address(text)
    if checksum and kind != "http":
        raise click.BadParameter(f"--checksum is for http(s)://; {url} is verified otherwise, or cannot be")
    said = {"url": url, "secretRef": secret, "certConfigMap": certificates, "checksum": checksum}
    return {kind: {field: value for field, value in said.items() if value}}


def _address(text: str) -> tuple[str, str]:
    """The source's field in a DataVolume, and its URL there."""
    if text.lower().startswith("s3://"):
        return "s3", text
    try:
        found = Source.parse(text)
    except ImageFault as fault:
        raise click.BadParameter(f"{fault.subject}: it may be {FORMS}") from fault
    if found.kind is Kind.REGISTRY:
        return "registry", f"docker://{found.place}"
    if found.kind in (Kind.HTTP, Kind.NBD):
        return found.kind.value, found.place
    raise click.BadParameter(
        f"{found} is on this machine, and a volume is filled where its storage is: send it with "
        f"`ingot volume upload FILE NAME`; a SOURCE is {FORMS}"
    )


def read_claim(text: str, namespace: str) -> Object:
    """`[NAMESPACE/]NAME`, the namespace by default the one given. Raises BadParameter."""
    first, slash, second = text.partition("/")
    found = (first, second) if slash else (namespace, first)
    if not all(found) or "/" in second:
        raise click.BadParameter(f'"{text}" is not NAME or NAMESPACE/NAME')
    return {"namespace": found[0], "name": found[1]}
