"""Objects of every kind of Kubernetes that both servers serve: the least that is accepted, and what is not."""

from __future__ import annotations

from typing import Any

from ingot.api.object import Object
from ingot.api.resource import Resource
from wire.kinds import (
    CLAIMS,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CSI_DRIVERS,
    ENDPOINTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STORAGE_CLASSES,
    VOLUMES,
    claim,
)
from wire.talker import Conversation

CONTAINER = {"name": "main", "image": "registry.test/app:1"}
RBAC = "rbac.authorization.k8s.io"
VOLUME: Object = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/tmp/wire"},  # noqa: S108  # nothing is ever written there
}
EVENT: Object = {
    "involvedObject": {"kind": "Pod", "name": "one"},
    "reason": "Tested",
    "message": "it was",
    "type": "Normal",
}
RULE: Object = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
SUBJECT: Object = {"kind": "User", "name": "joan"}


def binding(kind: str) -> Object:
    return {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": "some"}, "subjects": [SUBJECT]}


# The kind, the least that it takes, and what else than its name makes it wrong.
KINDS: dict[str, tuple[Resource, Object, list[Object]]] = {
    "pod": (
        PODS,
        {"spec": {"containers": [CONTAINER], "automountServiceAccountToken": False}},
        [
            {"spec": {}},
            {"spec": {"containers": []}},
            {"spec": {"containers": [{"name": "main"}]}},
            {"spec": {"containers": [{"image": "a"}]}},
            {"spec": {"containers": [CONTAINER, CONTAINER]}},
            {"spec": {"containers": [{**CONTAINER, "name": "Not A Name"}]}},
            {"spec": {"containers": [{**CONTAINER, "imagePullPolicy": "Sometimes"}]}},
            {"spec": {"containers": [{**CONTAINER, "volumeMounts": [{"name": "none", "mountPath": "/x"}]}]}},
            {"spec": {"containers": [{**CONTAINER, "env": [{"name": "", "value": "x"}]}]}},
            {"spec": {"containers": [{**CONTAINER, "ports": [{"containerPort": 0}]}]}},
            {"spec": {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]}},
            {"spec": {"containers": [CONTAINER], "restartPolicy": "Perhaps"}},
            {"spec": {"containers": [CONTAINER], "volumes": [{"name": "a"}, {"name": "a"}]}},
            {"spec": {"containers": [CONTAINER], "dnsPolicy": "Magic"}},
            {"spec": {"containers": [CONTAINER], "nodeName": "Not A Node"}},
            {"spec": {"containers": [CONTAINER], "activeDeadlineSeconds": 0}},
        ],
    ),
    "claim": (
        CLAIMS,
        {"spec": claim("")["spec"]},
        [
            {"spec": {}},
            {"spec": claim("", accessModes=[])["spec"]},
            {"spec": claim("", accessModes=["Sometimes"])["spec"]},
            {"spec": claim("", "-1Gi")["spec"]},
            {"spec": claim("", "0")["spec"]},
            {"spec": claim("", volumeMode="Tape")["spec"]},
            {"spec": claim("", storageClassName="Not A Class")["spec"]},
            {"spec": claim("", accessModes=["ReadWriteOncePod", "ReadWriteOnce"])["spec"]},
        ],
    ),
    "volume": (
        VOLUMES,
        {"spec": VOLUME},
        [
            {"spec": {}},
            {"spec": {key: value for key, value in VOLUME.items() if key != "hostPath"}},
            {"spec": {**VOLUME, "capacity": {}}},
            {"spec": {**VOLUME, "nfs": {"server": "a", "path": "/b"}}},
            {"spec": {**VOLUME, "persistentVolumeReclaimPolicy": "Burn"}},
            {"spec": {**VOLUME, "volumeMode": "Tape"}},
            {"spec": {**VOLUME, "hostPath": {"path": "/a/../b"}}},
        ],
    ),
    "service": (
        SERVICES,
        {"spec": {"clusterIP": "None", "ports": [{"port": 80}], "selector": {"app": "web"}}},
        [
            {"spec": {"clusterIP": "None", "ports": [{"port": 0}]}},
            {"spec": {"clusterIP": "None", "ports": [{"port": 80}, {"port": 81}]}},
            {"spec": {"clusterIP": "None", "ports": [{"port": 80, "protocol": "MAIL"}]}},
            {"spec": {"clusterIP": "None", "type": "Strange"}},
            {"spec": {"type": "ExternalName"}},
            {"spec": {"clusterIP": "not an address", "ports": [{"port": 80}]}},
            {"spec": {"clusterIP": "None", "sessionAffinity": "Always", "ports": [{"port": 80}]}},
        ],
    ),
    "endpoints": (
        ENDPOINTS,
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
        [
            {"subsets": [{"addresses": [{"ip": "nowhere"}], "ports": [{"port": 80}]}]},
            {"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80}]}]},
            {"subsets": [{"ports": [{"port": 80}]}]},
        ],
    ),
    "secret": (
        SECRETS,
        {"stringData": {"a": "b"}},
        [
            {"data": {"not a key": "YQ=="}},
            {"type": "kubernetes.io/tls", "data": {}},
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "YQ=="}},
            {"type": "kubernetes.io/basic-auth"},
            {"type": "kubernetes.io/service-account-token"},
        ],
    ),
    "account": (SERVICE_ACCOUNTS, {"imagePullSecrets": [{"name": "registry"}]}, [{"metadata": {"name": "Upper"}}]),
    "event": (
        EVENTS,
        EVENT,
        [
            {**EVENT, "type": "Strange"} | {"eventTime": "2020-01-01T00:00:00.000000Z"},
            {**EVENT, "involvedObject": {"kind": "Pod", "name": "one", "namespace": "elsewhere"}},
        ],
    ),
    "lease": (
        LEASES,
        {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
        [
            {"spec": {"leaseDurationSeconds": 0}},
            {"spec": {"leaseTransitions": -1}},
        ],
    ),
    "role": (
        ROLES,
        {"rules": [RULE]},
        [
            {"rules": [{**RULE, "verbs": []}]},
            {"rules": [{"verbs": ["get"]}]},
            {"rules": [{**RULE, "nonResourceURLs": ["/healthz"]}]},
        ],
    ),
    "cluster-role": (
        CLUSTER_ROLES,
        {"rules": [RULE, {"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]},
        [
            {"rules": [{**RULE, "nonResourceURLs": ["/healthz"]}]},
            {"rules": [{**RULE, "apiGroups": []}]},
        ],
    ),
    "role-binding": (
        ROLE_BINDINGS,
        binding("ClusterRole"),
        [
            {"roleRef": {"apiGroup": RBAC, "kind": "Pod", "name": "some"}},
            {"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": ""}},
            {**binding("Role"), "subjects": [{"kind": "Robot", "name": "x"}]},
            {**binding("Role"), "subjects": [{"kind": "User", "name": ""}]},
        ],
    ),
    "cluster-role-binding": (
        CLUSTER_ROLE_BINDINGS,
        binding("ClusterRole"),
        [{"roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "some"}}],
    ),
    "storage-class": (
        STORAGE_CLASSES,
        {"provisioner": "wire.test/none"},
        [
            {},
            {"provisioner": "Not A Name"},
            {"provisioner": "wire.test/none", "reclaimPolicy": "Burn"},
            {"provisioner": "wire.test/none", "volumeBindingMode": "Later"},
            {"provisioner": "wire.test/none", "parameters": {"": "x"}},
        ],
    ),
    "csi-driver": (
        CSI_DRIVERS,
        {"spec": {}},
        [{"spec": {"volumeLifecycleModes": ["Never"]}}, {"spec": {"fsGroupPolicy": "Never"}}],
    ),
    "priority-class": (
        PRIORITY_CLASSES,
        {"value": 10},
        [{"value": 2000000001}, {"value": 1, "preemptionPolicy": "Rarely"}],
    ),
    "node": (NODES, {}, [{"spec": {"podCIDR": "nonsense"}}, {"spec": {"taints": [{"key": "a", "effect": "Loud"}]}}]),
}


def named(case: Conversation, resource: Resource, content: dict[str, Any]) -> Object:
    """The object with a name that is this case's own."""
    name = "one" if resource.namespaced else f"{case.namespace}-one"
    here = {"involvedObject": {"namespace": case.namespace} | content["involvedObject"]} if resource == EVENTS else {}
    return {"metadata": {"name": name}, **content, **here}
