"""What a pod may be told about itself: its metadata, where it runs, and what its containers may use."""

import json
import math
import os
import re
from fractions import Fraction

from ingot.api.object import Object
from ingot.api.quantity import exact
from ingot.standalone.pods.fault import PodFault

# The machine's, and that of pods which have none of their own.
ADDRESS = "127.0.0.1"
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def addressed(pod: Object, address: str) -> Object:
    """The pod with that address, whatever its status says yet."""
    return {**pod, "status": {**(pod.get("status") or {}), "podIP": address}}


def address_of(pod: Object) -> str:
    return str((pod.get("status") or {}).get("podIP") or ADDRESS)


def field(pod: Object, path: str) -> str:
    """A field that `fieldRef` may name. Raises PodFault for any other."""
    metadata, spec = pod["metadata"], pod["spec"]
    known = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata["uid"],
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "status.hostIP": ADDRESS,
        "status.hostIPs": ADDRESS,
        "status.podIP": address_of(pod),
        "status.podIPs": address_of(pod),
    }
    if path in known:
        return str(known[path])
    if path in ("metadata.labels", "metadata.annotations"):
        entries = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(entries.items()))
    if entry := _ENTRY.fullmatch(path):
        return str((metadata.get(entry[1]) or {}).get(entry[2], ""))
    raise PodFault(
        "CreateContainerConfigError", f"fieldRef: field {path!r} cannot be told; name one of {sorted(known)}"
    )


def resource_field(pod: Object, container: Object, wanted: Object) -> str:
    """What `resourceFieldRef` asks for, in units of its divisor, rounded up."""
    name = wanted.get("containerName") or container.get("name")
    spec = pod["spec"]
    found = [each for each in (*spec["containers"], *(spec.get("initContainers") or ())) if each["name"] == name]
    if not found:
        raise PodFault("CreateContainerConfigError", f"resourceFieldRef: the pod has no container {name!r}")
    sort, _, what = wanted["resource"].partition(".")
    amounts = (found[0].get("resources") or {}).get(sort) or {}
    amount = exact(amounts[what]) if what in amounts else _unlimited(sort, what)
    divisor = exact(wanted.get("divisor") or "1") or 1
    return str(math.ceil(amount / divisor))


def _unlimited(sort: str, what: str) -> Fraction:
    """A container without a limit may have all that the machine has; one without a request asks for nothing."""
    if sort == "requests":
        return Fraction(0)
    if what == "cpu":
        return Fraction(os.cpu_count() or 1)
    return Fraction(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
