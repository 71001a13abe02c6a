"""What tells kube-apiserver to ask Ingot: the webhooks for every kind, and where they are served."""

from collections.abc import Callable, Iterable

from ingot.api.machinery.kind import KindInfo
from ingot.api.object import Object

MUTATE, VALIDATE, CONVERT = "/mutate", "/validate", "/convert"

_SERVICE = {"namespace": "ingot", "name": "ingot-webhooks", "port": 443}
_NAME = "ingot-webhooks"
# Each answer takes milliseconds; a write that waits longer than this is better told so.
_TIMEOUT_SECONDS = 5


def client_config(path: str) -> Object:
    """How kube-apiserver reaches `path`. The certificate authority is filled in by the installation, which makes it."""
    return {"service": {**_SERVICE, "path": path}}


def conversion() -> Object:
    """The `conversion` of a CustomResourceDefinition with several versions."""
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config(CONVERT)}
    return {"strategy": "Webhook", "webhook": webhook}


def configurations(kinds: Iterable[KindInfo]) -> list[Object]:
    """The configurations for these kinds, as they are applied to a cluster. Our own server asks nobody."""
    known = list(kinds)
    rules = _rules(known, lambda info: info.admit_status)
    # Asked again when a later webhook of someone else has changed the object, perhaps into an older shape.
    mutating = {**_webhook("mutate.ingot.local", MUTATE, rules), "reinvocationPolicy": "IfNeeded"}
    rules = _rules(known, lambda info: info.admit_status or info.guard_status)
    validating = _webhook("validate.ingot.local", VALIDATE, rules)
    return [
        _configuration("MutatingWebhookConfiguration", mutating),
        _configuration("ValidatingWebhookConfiguration", validating),
    ]


def _rules(kinds: Iterable[KindInfo], with_status: Callable[[KindInfo], bool]) -> list[Object]:
    """One rule for the kinds of a group that have the same versions."""
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for info in kinds:
        versions = tuple(version.name for version in info.versions if version.served)
        found = resources.setdefault((info.group, versions), [])
        found.append(info.plural)
        if with_status(info):
            found.append(f"{info.plural}/status")
    return [
        {
            "apiGroups": [group],
            "apiVersions": list(versions),
            "operations": ["CREATE", "UPDATE"],
            "resources": found,
        }
        for (group, versions), found in resources.items()
    ]


def _webhook(name: str, path: str, rules: list[Object]) -> Object:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(path),
        "rules": rules,
        "matchPolicy": "Equivalent",
        # What nobody has judged would be stored in shapes that the controllers do not know.
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "timeoutSeconds": _TIMEOUT_SECONDS,
    }


def _configuration(kind: str, webhook: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": _NAME},
        "webhooks": [webhook],
    }
