"""Asking an API server what somebody may do."""

from ingot.api.object import Object
from ingot.kube.client import Client

_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def allowed(client: Client, user: Object, attributes: Object) -> bool:
    """Whether `user`, as an AdmissionReview names them, may do what `attributes`, a review's resourceAttributes, say.

    The client needs the right to create SubjectAccessReviews, as ClusterRole system:auth-delegator has it. Raises
    ApiError.
    """
    subject = {"user": user.get("username", ""), "uid": user.get("uid", ""), "groups": user.get("groups") or []}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {**subject, "extra": user.get("extra") or {}, "resourceAttributes": attributes},
    }
    return bool((await client.call("POST", _PATH, review))["status"]["allowed"])
