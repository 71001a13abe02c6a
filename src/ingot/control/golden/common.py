"""The common templates and crons that come with Ingot: read once, and handed out as copies (G5, G7)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import yaml

from ingot.api.object import Object, name_of
from ingot.api.ssp.ssp import GOLDEN_IMAGES
from ingot.api.template.process import process
from ingot.kube.objects import copy_of

# Of the DataSources that the common templates name.
NAMESPACE: Final = GOLDEN_IMAGES
_CRONS: Final = "crons.yaml"
_FLAVOR: Final = "flavor.template.kubevirt.io/"
_VARIANT: Final = "template.kubevirt.io/default-os-variant"


@dataclass(frozen=True, slots=True)
class Size:
    """What a guest of a template has; `flavor` is the word for it in labels and names."""

    flavor: str
    cores: int
    memory: str


# A file has one of these; the others are made of it. A desktop does not come smaller than its own file says.
SIZES: Final = {
    "server": (Size("tiny", 1, "1Gi"), Size("small", 1, "2Gi"), Size("medium", 1, "4Gi"), Size("large", 2, "8Gi")),
    "desktop": (Size("medium", 1, "4Gi"), Size("large", 2, "8Gi")),
}


def templates() -> list[Object]:
    """Every common template, in every size, by name. They have no namespace."""
    return [copy_of(each) for each in _templates()]


def crons() -> list[Object]:
    """The cron templates of the images that the common templates start from, by name. They have no schedule."""
    return [copy_of(each) for each in _read(_CRONS)]


@cache
def sources() -> frozenset[str]:
    """The names of the DataSources that the common templates clone, all of them in NAMESPACE."""
    return frozenset(name for template in _templates() for name in _named(template))


def _named(template: Object) -> Iterator[str]:
    """The DataSources that a template clones as long as nobody gives it other values."""
    for machine in process(template)["objects"]:
        for volume in machine["spec"].get("dataVolumeTemplates") or ():
            reference = volume["spec"].get("sourceRef") or {}
            if reference.get("namespace") == NAMESPACE:
                yield reference["name"]


@cache
def _templates() -> tuple[Object, ...]:
    names = sorted(each.name for each in files("ingot").joinpath("templates").iterdir())
    read = [_read(name) for name in names if name.endswith(".yaml") and name != _CRONS]
    return tuple(sorted((sized for base in read for sized in _sized(base)), key=name_of))


@cache
def _read(name: str) -> Any:
    return yaml.safe_load(files("ingot").joinpath("templates", name).read_text())


def _sized(base: Object) -> Iterator[Object]:
    """The template in all sizes of its workload, its own among them."""
    _, workload, own = name_of(base).rsplit("-", 2)
    for size in SIZES[workload]:
        yield base if size.flavor == own else _resized(base, own, size)


def _resized(base: Object, own: str, size: Size) -> Object:
    made = copy_of(base)
    metadata = made["metadata"]
    metadata["name"] = f"{name_of(base).removesuffix(own)}{size.flavor}"
    metadata["labels"] = {_reworded(key, own, size): value for key, value in metadata["labels"].items()}
    # A form that shows one template for an operating system shows the file's own.
    metadata["labels"].pop(_VARIANT, None)
    machine = made["objects"][0]
    machine["metadata"]["labels"]["vm.kubevirt.io/template"] = metadata["name"]
    inner = machine["spec"]["template"]
    inner["metadata"]["annotations"]["vm.kubevirt.io/flavor"] = size.flavor
    inner["metadata"]["labels"]["kubevirt.io/size"] = size.flavor
    domain = inner["spec"]["domain"]
    domain["cpu"]["cores"] = size.cores
    domain["memory"]["guest"] = size.memory
    return made


def _reworded(key: str, own: str, size: Size) -> str:
    return f"{_FLAVOR}{size.flavor}" if key == f"{_FLAVOR}{own}" else key


def dangling(name: str) -> Mapping[str, Any]:
    """What a common DataSource points to unless a cron keeps it fresh: the claim that templates cloned before."""
    return {"source": {"pvc": {"name": name, "namespace": NAMESPACE}}}
