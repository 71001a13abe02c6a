"""Disks as people name them on a command line: a file, an address, a claim, a golden image, or an empty one."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import click

from ingot.api.kubevirt.endpoints import SCHEMES
from ingot.api.kubevirt.uri import UriError, parse
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES
from ingot.cli.golden.options import NAMESPACE

COPY_MODES = ("none", "copy-on-write", "copy-on-read", "clone")
FORMATS = ("raw", "qcow2")
TARGETS = ("disk", "cdrom")
FORMS = "a disk file, nbd://…, iscsi://…, rbd://…, gluster://…, http(s)://…, golden:NAME, pvc:NAME or empty:SIZE"
_QCOW2 = b"QFI\xfb"
_REGISTRY = re.compile(
    r"(?:docker|oci)://.+|[\w.-]+(?::\d+)?(?:/[\w.-]+)+(?::[\w.-]+)?(?:@sha256:\w+)?|[\w.-]+:[\w.-]+"
)
_OPTIONS = {"copy": COPY_MODES, "format": FORMATS, "target": TARGETS, "usage": (), "size": ()}


@dataclass(frozen=True, slots=True)
class Wish:
    """What was said about a disk; "" for what was not."""

    place: str
    copy: str = ""
    format: str = ""
    usage: str = ""
    target: str = ""
    size: str = ""


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden image, by its DataSource. `size` is what its clone is grown to; "" for as large as it is."""

    namespace: str
    name: str
    size: str = ""

    def template(self, name: str) -> Object:
        """A machine's own volume of that name, cloned from what the image is at that moment."""
        reference = {"kind": DATA_SOURCES.kind, "namespace": self.namespace, "name": self.name}
        storage = {"resources": {"requests": {"storage": self.size}}} if self.size else {}
        return {"metadata": {"name": name}, "spec": {"sourceRef": reference, "storage": storage}}


@dataclass(frozen=True, slots=True)
class Image:
    """A disk of a new machine: its volume's source as the API has it, and how it is used.

    That of a `golden` image has no source of its own: it is cloned for the machine, or for all that only read it.
    """

    source: Object
    copy: str
    usage: str = ""
    target: str = "disk"
    title: str = field(default="", compare=False)
    golden: Golden | None = None

    def volume(self, name: str) -> Object:
        made: Object = {"name": name, **self.source}
        if self.copy != "none":
            made["copy"] = {"mode": self.copy, **({"usageType": self.usage} if self.usage else {})}
        return made

    def disk(self, name: str, order: int) -> Object:
        device = {"bus": "sata"} if self.target == "cdrom" else {"bus": "virtio"}
        return {"name": name, "bootOrder": order, self.target: device}


def read_wish(text: str) -> Wish:
    """`PLACE[,copy=MODE][,format=FORMAT][,usage=TYPE][,target=cdrom][,size=SIZE]`. Raises BadParameter."""
    place, options = text, {}
    while (split := re.fullmatch(r"(.+),(\w+)=([\w.-]+)", place)) and split[2] in _OPTIONS:
        place, word, value = split[1], split[2], split[3]
        if _OPTIONS[word] and value not in _OPTIONS[word]:
            raise click.BadParameter(f'{word}={value} of "{text}" is none of {", ".join(_OPTIONS[word])}')
        options[word] = value
    return Wish(place, **options)


def read_image(wish: Wish) -> Image:
    """The disk that a wish names. Raises BadParameter, which says what would be accepted."""
    scheme, colon, rest = wish.place.partition(":")
    made: Image
    if colon and rest.startswith("//") and scheme.lower() in SCHEMES:
        made = _network(wish)
    elif colon and scheme in _WORDS:
        made = _WORDS[scheme](wish, rest)
    else:
        made = _file(wish)
    made = replace(made, target=wish.target or made.target)
    if wish.usage and made.copy == "none":
        raise click.BadParameter(f"{wish.place}: a usage type says where a copy is kept; it needs a copy mode")
    if wish.size and (made.golden is None or is_shared(made)):
        raise click.BadParameter(f"{wish.place}: a size is for the clone of a golden image that one machine has")
    return made


def is_shared(image: Image) -> bool:
    """Whether it is a golden image that the machine only reads, so that others can have the same volume."""
    return image.golden is not None and (image.target == "cdrom" or image.copy != "none")


def _network(wish: Wish) -> Image:
    try:
        scheme = parse(wish.place).scheme
    except UriError as error:
        raise click.BadParameter(f"{wish.place}: {error.why}") from error
    copy = wish.copy or ("none" if wish.target == "cdrom" else "copy-on-write")
    said = wish.format or ("qcow2" if urlsplit(wish.place).path.endswith(".qcow2") else "raw")
    source: Object = {"uri": wish.place, "format": said}
    writes = copy == "none" and wish.target != "cdrom"
    if writes and scheme in ("http", "https"):
        raise click.BadParameter(f"{wish.place}: a web server's file can only be read; choose another --copy than none")
    if writes:
        source["readOnly"] = False
    title = Path(urlsplit(wish.place).path).name or str(urlsplit(wish.place).hostname)
    return Image({"networkVolume": source}, copy, wish.usage, title=title)


def _claim(wish: Wish, name: str) -> Image:
    _no_format(wish)
    source = {"persistentVolumeClaim": {"claimName": name}}
    return Image(source, wish.copy or "none", wish.usage, title=name)


def _golden(wish: Wish, place: str) -> Image:
    _no_format(wish)
    first, slash, second = place.partition("/")
    namespace, name = (first, second) if slash else (NAMESPACE, first)
    if not (namespace and name) or "/" in name:
        raise click.BadParameter(f"{wish.place} is not golden:NAME or golden:NAMESPACE/NAME")
    return Image({}, wish.copy or "none", wish.usage, title=name, golden=Golden(namespace, name, wish.size))


def _empty(wish: Wish, size: str) -> Image:
    _no_format(wish)
    if wish.copy not in ("", "none"):
        raise click.BadParameter(f"{wish.place}: an empty disk is nobody else's; it needs no copy")
    return Image({"emptyDisk": {"capacity": size}}, "none", title="empty")


_WORDS: dict[str, Callable[[Wish, str], Image]] = {"golden": _golden, "pvc": _claim, "empty": _empty}


def _no_format(wish: Wish) -> None:
    if wish.format:
        raise click.BadParameter(f"{wish.place}: a format can be given for an address only")


def _file(wish: Wish) -> Image:
    path = Path(wish.place).expanduser().absolute()
    if not path.exists():
        raise click.BadParameter(_missing(wish.place))
    if not path.is_file():
        raise click.BadParameter(f"{path} is not a file; a disk is {FORMS}")
    if _is_qcow2(path) or wish.format == "qcow2":
        raise click.BadParameter(
            f"{path} is a qcow2 image, and files of this machine are used as raw disks. Make a raw one of it with\n"
            f"  qemu-img convert -O raw {path} {path.with_suffix('.raw')}\n"
            "or serve it with qemu-nbd and give its nbd:// address."
        )
    source = {"hostDisk": {"path": str(path), "type": "Disk"}}
    target = "cdrom" if path.suffix == ".iso" and not wish.target else wish.target or "disk"
    copy = wish.copy or ("none" if target == "cdrom" else "copy-on-write")
    return Image(source, copy, wish.usage, target, path.name)


def _is_qcow2(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_QCOW2)) == _QCOW2
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}") from error


def _missing(place: str) -> str:
    if _REGISTRY.fullmatch(place) and not place.startswith((".", "/")):
        return (
            f"there is no file {place}; an image of a container registry becomes a volume or a golden image first:\n"
            f"  ingot volume import {place} NAME && ingot vm run pvc:NAME\n"
            f"  ingot golden add {place} --name NAME && ingot vm run golden:NAME\n"
            f"Else a disk is {FORMS}"
        )
    return f"there is no file {place}; a disk is {FORMS}"
