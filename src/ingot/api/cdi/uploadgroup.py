"""The group upload.cdi.kubevirt.io: tokens that are asked for and never stored, and how discovery describes them."""

from ingot.api.object import Object
from ingot.api.resources import UPLOAD_TOKEN_REQUESTS

GROUP = UPLOAD_TOKEN_REQUESTS.group
# The preferred one first; both say the same.
VERSIONS = (UPLOAD_TOKEN_REQUESTS.version, "v1alpha1")
_SINGULAR = "uploadtokenrequest"
_VERBS = ["create"]


def group() -> Object:
    """The group as an item of an APIGroupList."""
    versions = [{"groupVersion": f"{GROUP}/{version}", "version": version} for version in VERSIONS]
    return {"name": GROUP, "versions": versions, "preferredVersion": versions[0]}


def resources(version: str) -> Object:
    """The APIResourceList of one version."""
    listed = {
        "name": UPLOAD_TOKEN_REQUESTS.plural,
        "singularName": _SINGULAR,
        "namespaced": True,
        "kind": UPLOAD_TOKEN_REQUESTS.kind,
        "verbs": _VERBS,
    }
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{version}"}
    return {**head, "resources": [listed]}


def aggregated_group() -> Object:
    """The group as an item of an APIGroupDiscoveryList."""
    versions = [
        {
            "version": version,
            "resources": [
                {
                    "resource": UPLOAD_TOKEN_REQUESTS.plural,
                    "responseKind": {"group": GROUP, "version": version, "kind": UPLOAD_TOKEN_REQUESTS.kind},
                    "scope": "Namespaced",
                    "singularResource": _SINGULAR,
                    "verbs": _VERBS,
                }
            ],
            "freshness": "Current",
        }
        for version in VERSIONS
    ]
    return {"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": versions}
