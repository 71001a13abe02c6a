"""Where Ingot's own server answers differently on purpose, and why. `docs/wire.md` shows these lists.

A case of DIFFERENCES must fail on Ingot's server: one that agrees again is to be taken off the list.
"""

from __future__ import annotations

# Case, as its recording is called, to the reason.
DIFFERENCES: dict[str, str] = {
    "http_discovery/a_method_that_nobody_knows_is_refused": (
        "A method that HTTP does not know is refused with 400 where the request is read, before anything of it is "
        "looked at."
    ),
    "http_discovery/metrics_are_told": (
        "The metrics of kube-apiserver are its own. On one machine `ingot status` says how the server does."
    ),
    "http_discovery/the_issuer_of_tokens_is_published": (
        "The tokens of one machine are for its own API server, which reviews them for everybody; no other party is "
        "asked to trust its keys."
    ),
    "http_forms/answers_come_as_protobuf": (
        "Protobuf is read but not written: a client that prefers it, as Go's do, takes JSON as well."
    ),
    "http_kinds/a_secret_may_hold_a_token_of_an_account": (
        "Tokens that never expire are not made: `kubectl create token` gives one for as long as it is asked for."
    ),
    "kubectl_get/describe_tells_what_a_namespace_may_hold": (
        "ResourceQuota and LimitRange are not served: nothing on one machine would enforce them."
    ),
    "kubectl_know/explain_lists_the_values_of_a_field": (
        "The schemas of Kubernetes that Ingot is built from say nothing of the values of a field; the server checks "
        "them all the same."
    ),
    "kubectl_know/the_servers_version_is_shown": (
        "The version is that of the Kubernetes release whose API is served, and says that the server is Ingot's."
    ),
}

_PODS_WITHIN = "It reaches into a running pod, which the API server of one machine has no kubelet to ask for."
_NETWORK = "One machine has no cluster network: a Service is stored and gives no address anything to do."

# Kinds of a cluster that are not served, as a version of a group or as resources within one, to the reason.
ABSENT: dict[str, str] = {
    "admissionregistration.k8s.io/v1": "Ingot's own admission is part of the server, and nobody else's is called.",
    "apiregistration.k8s.io/v1": "No other API server stands behind this one.",
    "apps/v1": "Nothing on one machine keeps replicas of pods; a client is told so, instead of waiting for ever.",
    "autoscaling/v1 horizontalpodautoscalers": "There is nothing to scale by load.",
    "autoscaling/v2": "There is nothing to scale by load.",
    "batch/v1": "Nothing on one machine runs jobs; Ingot's own work is in pods that its controllers make.",
    "certificates.k8s.io/v1": "The server signs its own certificates and nobody else's.",
    "discovery.k8s.io/v1": _NETWORK,
    "flowcontrol.apiserver.k8s.io/v1": "The clients of one machine need no fair queues.",
    "networking.k8s.io/v1": _NETWORK,
    "node.k8s.io/v1": "There is one way to run a pod.",
    "policy/v1 poddisruptionbudgets": "Nothing on one machine drains nodes; an eviction is a deletion.",
    "storage.k8s.io/v1 csistoragecapacities": "No scheduler asks how much room a driver has.",
    "v1 componentstatuses": "Kubernetes itself has given it up.",
    "v1 limitranges": "Nothing on one machine would enforce it.",
    "v1 nodes/proxy": "There is no kubelet to talk to.",
    "v1 pods/attach": _PODS_WITHIN,
    "v1 pods/ephemeralcontainers": _PODS_WITHIN,
    "v1 pods/exec": _PODS_WITHIN,
    "v1 pods/log": _PODS_WITHIN,
    "v1 pods/portforward": _PODS_WITHIN,
    "v1 pods/proxy": _NETWORK,
    "v1 podtemplates": "Nothing on one machine makes pods from it.",
    "v1 replicationcontrollers": "Nothing on one machine keeps replicas of pods.",
    "v1 resourcequotas": "Nothing on one machine would enforce it.",
    "v1 services/proxy": _NETWORK,
}
