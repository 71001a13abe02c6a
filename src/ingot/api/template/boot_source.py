"""What the machine of a template starts from, in the form with a DataSource and in the one from before (G7, G8)."""

import re
from dataclasses import dataclass

from ingot.api.machinery.scalar import SUBDOMAIN_PATTERN
from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, VOLUME_CLAIMS
from ingot.api.template.process import TemplateError, process


@dataclass(frozen=True, slots=True)
class BootSource:
    """A DataSource, or a claim that is cloned directly."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def boot_source(template: Object) -> BootSource | None:
    """What the first volume of the first machine is cloned from as long as nobody gives other values.

    None where there is no machine, or where it starts from something else.
    """
    try:
        objects = process(template, _placeholders(template))["objects"]
    except TemplateError:
        return None
    volumes = (volume for obj in objects for volume in _volumes(obj))
    return next((found for volume in volumes if (found := _cloned(volume, namespace_of(template)))), None)


def available(source: BootSource, found: Object | None) -> bool:
    """Whether it can be started from: a DataSource that is ready, or a claim that is there, which is `found`."""
    if found is None or source.resource is VOLUME_CLAIMS:
        return found is not None
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _placeholders(template: Object) -> dict[str, str]:
    """Values for what somebody must give, names by their form: where a machine starts from does not hang on them."""
    parameters = template.get("parameters") or ()
    needed = (each for each in parameters if each.get("required") and not (each.get("value") or each.get("generate")))
    return {each["name"]: each["name"].lower().replace("_", "-") for each in needed}


def _volumes(obj: Object) -> list[Object]:
    """The templates of a machine's volumes. Anything may stand in a template."""
    spec = obj.get("spec")
    listed = spec.get("dataVolumeTemplates") if obj.get("kind") == "VirtualMachine" and isinstance(spec, dict) else None
    if not isinstance(listed, list):
        return []
    return [each["spec"] for each in listed if isinstance(each, dict) and isinstance(each.get("spec"), dict)]


def _cloned(volume: Object, namespace: str) -> BootSource | None:
    source = volume.get("source")
    for resource, reference in (
        (DATA_SOURCES, volume.get("sourceRef")),
        (VOLUME_CLAIMS, source.get("pvc") if isinstance(source, dict) else None),
    ):
        if isinstance(reference, dict):
            place, name = _name(reference.get("namespace") or namespace), _name(reference.get("name"))
            if place and name:
                return BootSource(resource, place, name)
    return None


def _name(value: object) -> str:
    """The name, "" for what no object can have: a server asked for that says anything but that it is missing."""
    fits = isinstance(value, str) and len(value) <= 253 and re.fullmatch(SUBDOMAIN_PATTERN, value)
    return str(value) if fits else ""
