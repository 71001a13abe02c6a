"""Where Ingot's own server answers differently on purpose, and why. `docs/wire.md` shows this list."""

from __future__ import annotations

# Case, as its recording is called, to the reason.
DIFFERENCES: dict[str, str] = {
    "http_discovery/a_method_that_nobody_knows_is_refused": (
        "A method that HTTP does not know is refused with 400 where the request is read, before anything of it is "
        "looked at."
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
