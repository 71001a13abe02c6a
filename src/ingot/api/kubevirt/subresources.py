"""The group subresources.kubevirt.io: acts on machines that are no objects, and how discovery describes them."""

from ingot.api.object import Object

GROUP = "subresources.kubevirt.io"
# The preferred one first.
VERSIONS = ("v1", "v1alpha3")
# What clients call a WebSocket of plain bytes, such as a console.
PLAIN = "plain.kubevirt.io"

# What can be asked of each resource, and RBAC's verb for it.
ACTS: dict[str, dict[str, str]] = {
    "virtualmachineinstances": {
        "console": "get",
        "pause": "update",
        "reset": "update",
        "softreboot": "update",
        "unpause": "update",
        "vnc": "get",
    },
    "virtualmachines": {"restart": "update", "start": "update", "stop": "update"},
}


def group() -> Object:
    """The group as an item of an APIGroupList."""
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in VERSIONS]
    return {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}


def resources(version: str) -> Object:
    """The APIResourceList of one version. There are no objects of the resources, so they are not listed themselves."""
    listed = [
        {"name": f"{plural}/{act}", "singularName": "", "namespaced": True, "kind": "", "verbs": [verb]}
        for plural, acts in ACTS.items()
        for act, verb in acts.items()
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{version}",
        "resources": listed,
    }


def aggregated_group() -> Object:
    """The group as an item of an APIGroupDiscoveryList, as kube-apiserver makes it of the APIResourceLists."""
    nothing = {"group": "", "version": "", "kind": ""}
    described = [
        {
            "resource": plural,
            "responseKind": nothing,
            "scope": "Namespaced",
            "singularResource": "",
            "verbs": [],
            "subresources": [
                {"subresource": act, "responseKind": nothing, "verbs": [verb]} for act, verb in acts.items()
            ],
        }
        for plural, acts in ACTS.items()
    ]
    versions = [{"version": version, "resources": described, "freshness": "Current"} for version in VERSIONS]
    return {"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": versions}
