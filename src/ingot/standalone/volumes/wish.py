"""A claim that no volume suits: hand it to whoever makes volumes of its class, or say why nobody does."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.kube.cache import Cache, Key
from ingot.kube.client import Client
from ingot.kube.events import Recorder
from ingot.standalone.volumes.words import OLD_STORAGE_PROVISIONER, STORAGE_PROVISIONER, annotation, class_of


class Wish:
    def __init__(self, client: Client, events: Recorder, classes: Cache) -> None:
        self._client = client
        self._events = events
        self._classes = classes

    async def tell(self, claim: Object) -> None:
        """Name the provisioner on the claim, which is what provisioners look for; or record what is wrong."""
        name = class_of(claim)
        if not name:
            message = "no persistent volumes available for this claim and no storage class is set"
            self._events.record(claim, "FailedBinding", message)
            return
        storage_class = self._classes.get(Key("", name))
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self._events.record(claim, "ProvisioningFailed", message, "Warning")
            return
        provisioner = storage_class["provisioner"]
        if provisioner.startswith("kubernetes.io/"):
            # The provisioners of that name were parts of Kubernetes, and are in none of today's.
            message = f"no volume plugin matched name: {provisioner}"
            self._events.record(claim, "ProvisioningFailed", message, "Warning")
            return
        await self._name(claim, provisioner)

    async def _name(self, claim: Object, provisioner: str) -> None:
        if annotation(claim, STORAGE_PROVISIONER) == provisioner:
            return
        metadata = {
            "resourceVersion": claim["metadata"]["resourceVersion"],
            "annotations": {STORAGE_PROVISIONER: provisioner, OLD_STORAGE_PROVISIONER: provisioner},
        }
        await self._client.patch(VOLUME_CLAIMS, name_of(claim), {"metadata": metadata}, namespace_of(claim))
        message = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by "
            "the system administrator. If volume creation is delayed, please verify that the provisioner is running "
            "and correctly registered."
        )
        self._events.record(claim, "ExternalProvisioning", message)
