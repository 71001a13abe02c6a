"""Storage in use stays until nothing uses it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ingot.standalone.lifecycle.protection import CLAIMS, VOLUMES, Protection

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
Scene = Any


@pytest.fixture
async def protection(scene: Scene) -> AsyncIterator[Protection]:
    made = Protection(scene.world)
    made.start()
    yield made
    await made.stop()


async def claimed(scene: Scene, node: str) -> None:
    """A claim, and a pod that has it."""
    await scene.create("serviceaccounts", {"metadata": {"name": "default", "namespace": "n"}})
    await scene.create(CLAIMS, {"metadata": {"name": "c", "namespace": "n"}, "spec": CLAIM})
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    spec = {"containers": [{"name": "a", "image": "b"}], "volumes": volumes, "nodeName": node}
    await scene.create("pods", {"metadata": {"name": "p", "namespace": "n"}, "spec": spec})


async def test_a_claim_goes_with_the_last_pod_that_has_it(scene: Scene, protection: Protection) -> None:
    await claimed(scene, "somewhere")
    await scene.delete(CLAIMS, "n", "c")
    await protection.work((CLAIMS, "n", "c"))
    assert scene.read(CLAIMS, "n", "c")["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    await scene.delete("pods", "n", "p")
    await scene.until(lambda: scene.read(CLAIMS, "n", "c") is None)


async def test_a_pod_without_a_node_holds_nothing(scene: Scene, protection: Protection) -> None:
    await claimed(scene, "")
    await scene.delete(CLAIMS, "n", "c")
    await scene.until(lambda: scene.read(CLAIMS, "n", "c") is None)


async def test_a_bound_volume_stays(scene: Scene, protection: Protection) -> None:
    await scene.create(VOLUMES, {"metadata": {"name": "v"}, "spec": VOLUME})
    await scene.patch(VOLUMES, "", "v", "status", status={"phase": "Bound"})
    await scene.delete(VOLUMES, "", "v")
    await protection.work((VOLUMES, "", "v"))
    assert scene.read(VOLUMES, "", "v")["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    await scene.patch(VOLUMES, "", "v", "status", status={"phase": "Released"})
    await scene.until(lambda: scene.read(VOLUMES, "", "v") is None)


async def test_what_was_to_go_before_a_restart_goes_after_it(scene: Scene) -> None:
    await scene.create(VOLUMES, {"metadata": {"name": "v"}, "spec": VOLUME})
    await scene.delete(VOLUMES, "", "v")
    late = Protection(scene.world)
    late.start()
    await scene.until(lambda: scene.read(VOLUMES, "", "v") is None)
    await late.stop()
