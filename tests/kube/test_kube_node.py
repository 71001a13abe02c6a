"""The harness itself: a node that is left in the midst of its work takes everything along."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingot.api.object import Object
from kube import box, traces
from kube.cluster import ControlPlane
from kube.node import RealNode, why_not

POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "left", "namespace": "default"},
    "spec": {
        "nodeName": "left",
        "containers": [{"name": "main", "image": box.IMAGE, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}],
    },
}


def test_pods_that_still_run_leave_nothing_on_the_machine(kube_apiserver: ControlPlane, tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    settings = [path.read_text() for path in traces.SETTINGS]
    with RealNode(kube_apiserver, tmp_path / "node", "left") as node:
        node.kubectl("create", "-f", "-", stdin=POD)
        node.kubectl("wait", "pod/left", "-n", "default", "--for=condition=Ready", "--timeout=60s")
        (volume,) = node.root.glob("pods/*/volumes/kubernetes.io~empty-dir/v")
        assert volume in traces.mounts(tmp_path)
        assert traces.pod_processes()
    node.kubectl("delete", "pod/left", "-n", "default", "--force")
    node.kubectl("delete", "node/left")
    assert not traces.mounts(tmp_path)
    assert not traces.pod_processes()
    assert [path.read_text() for path in traces.SETTINGS] == settings
    assert not why_not(), "the next node can start"
