"""The cron templates that a HyperConverged hands on: the common ones if its gate is open, and its own (G6)."""

from dataclasses import dataclass

from ingot.api.cdi.names import IMMEDIATE
from ingot.api.hco.hyperconverged import ENABLE_ANNOTATION, GATE
from ingot.api.object import Object, name_of
from ingot.api.ssp.ssp import TEMPLATES, place_of
from ingot.control.golden import common
from ingot.kube.objects import copy_of


@dataclass(frozen=True, slots=True)
class BootImage:
    """A cron template as it is handed on. `modified`: one of the common ones, as the HyperConverged changes it."""

    template: Object
    common: bool
    modified: bool = False


def boot_images(hyperconverged: Object, schedule: str) -> list[BootImage]:
    """What is handed on, by name and namespace; `schedule` is that of the common ones.

    What somebody has written a whole template for is handed on with the gate closed too, under whatever name, and
    instead of the common one of that name wherever it goes.
    """
    spec = hyperconverged.get("spec") or {}
    own = spec.get(TEMPLATES) or ()
    shared = {name_of(each): each for each in common.crons()}
    found = [_own(each, shared.get(name_of(each))) for each in own if _is_enabled(each)]
    if (spec.get("featureGates") or {}).get(GATE):
        place = spec.get("commonBootImageNamespace") or ""
        replaced = {name_of(each) for each in own}
        found += [_shared(each, schedule, place) for name, each in shared.items() if name not in replaced]
    return sorted(found, key=lambda image: place_of(image.template)[::-1])


def _is_enabled(template: Object) -> bool:
    told = (template["metadata"].get("annotations") or {}).get(ENABLE_ANNOTATION, "true")
    return str(told).lower() == "true"


def _own(template: Object, changed: Object | None) -> BootImage:
    """The template; if it has the name of a common one, that is `changed`, and gives its annotations."""
    made = _hastened(template)
    if changed is None:
        return BootImage(made, common=False)
    notes = {**(changed["metadata"].get("annotations") or {}), **made["metadata"]["annotations"]}
    made["metadata"]["annotations"] = notes
    return BootImage(made, common=True, modified=True)


def _shared(template: Object, schedule: str, namespace: str) -> BootImage:
    made = _hastened(template)
    made["spec"]["schedule"] = schedule
    if namespace:
        made["metadata"]["namespace"] = namespace
    return BootImage(made, common=True)


def _hastened(template: Object) -> Object:
    """A copy that says of its volumes that they wait for no consumer, unless it says something of that itself."""
    made = copy_of({"metadata": template["metadata"], "spec": template["spec"]})
    made["metadata"]["annotations"] = {IMMEDIATE: "true", **(made["metadata"].get("annotations") or {})}
    return made
