"""Where a token leads: to the pod and the Secret that were made for its upload, and to no others of their names."""

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import PODS, SECRETS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.reach import Reach
from ingot.control.uploads import key
from ingot.control.uploads.credentials import new_data
from ingot.control.uploads.token import issue
from ingot.kube.clock import ManualClock
from ingot.web.destination import Destination, Destinations, NotReady

KEY = b"k" * 32


def owned(owner: Object, name: str, **more: object) -> Object:
    reference = {"kind": "PersistentVolumeClaim", "name": name_of(owner), "uid": owner["metadata"]["uid"]}
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "ownerReferences": [{**reference, "controller": True}],
    }
    return {"metadata": metadata, **more}


class Api:
    """One claim, and all that was made for its upload."""

    def __init__(self, *, direct: bool) -> None:
        told = {names.UPLOAD_TARGET: ""} if direct else {}
        self.claim: Object = {
            "metadata": {"name": "disk", "namespace": "ns", "uid": "u", "annotations": told},
            "spec": {},
        }
        self.prime = owned(self.claim, names.prime_name(self.claim))
        self.prime["metadata"]["annotations"] = {names.PRIME_FOR: "ns/disk"}
        name = f"{names.UPLOADER_PREFIX}{'u' if direct else name_of(self.prime)}"
        filled = self.claim if direct else self.prime
        self.pod = owned(filled, name, status={"phase": "Running", "podIP": "10.0.0.1"})
        self.secret = owned(filled, name, data=new_data(name))
        self.clock = ManualClock()

    async def get(self, resource: Resource, name: str, _namespace: str) -> Object:
        own: Object = {"metadata": {"name": key.NAME}, "data": {"key": "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="}}
        there = {VOLUME_CLAIMS: (self.claim, self.prime), PODS: (self.pod,), SECRETS: (self.secret, own)}
        found = next((each for each in there[resource] if name_of(each) == name), None)
        if found is None:
            raise ApiError(404, "NotFound", name)
        return found

    def token(self) -> str:
        return issue(KEY, self.claim, self.clock.time())

    async def found(self) -> Destination:
        """Where its token leads."""
        destinations = Destinations(self, Reach(), self.clock)  # type: ignore[arg-type]
        return await destinations.find(await destinations.grant(self.token()))


@pytest.mark.parametrize("direct", [False, True])
async def test_a_token_leads_to_the_pod_that_was_made_for_it(direct: bool) -> None:
    api = Api(direct=direct)
    found = await api.found()
    filled = api.claim if direct else api.prime
    assert (found.line.authority, found.filled_uid) == ("10.0.0.1:8443", uid_of(filled))


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("kind", ["pod", "secret"])
async def test_what_somebody_else_has_made_of_its_name_is_none(direct: bool, kind: str) -> None:
    api = Api(direct=direct)
    getattr(api, kind)["metadata"]["ownerReferences"][0]["uid"] = "another"
    with pytest.raises(NotReady, match="its pod is starting"):
        await api.found()


async def test_nor_does_a_prime_of_somebody_else_lead_anywhere() -> None:
    api = Api(direct=False)
    api.prime["metadata"]["ownerReferences"] = []
    with pytest.raises(NotReady, match="its pod is starting"):
        await api.found()


async def test_a_pod_that_is_stopped_takes_no_upload() -> None:
    api = Api(direct=False)
    api.pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(NotReady):
        await api.found()
