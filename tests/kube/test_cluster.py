"""The harness itself: a real control plane comes up whole and takes its users as they are meant."""

from __future__ import annotations

import subprocess
from pathlib import Path

from kube.cluster import ControlPlane


def kubectl(cluster: ControlPlane, *arguments: str | Path) -> str:
    command = [cluster.kubectl, "--kubeconfig", cluster.kubeconfig, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_it_is_the_pinned_release(kube_apiserver: ControlPlane) -> None:
    assert "Server Version: v1.32.13" in kubectl(kube_apiserver, "version")


def test_a_namespace_gets_its_service_account_and_root_certificate(kube_apiserver: ControlPlane) -> None:
    kubectl(kube_apiserver, "create", "namespace", "harness")
    for name in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
        kubectl(kube_apiserver, "-n", "harness", "wait", "--for=create", name, "--timeout=30s")
    kubectl(kube_apiserver, "delete", "namespace", "harness", "--timeout=50s")
    assert "harness" not in kubectl(kube_apiserver, "get", "namespaces", "-o", "name")


def test_users_come_by_token_and_by_certificate(kube_apiserver: ControlPlane) -> None:
    certificate, key = kube_apiserver.credentials.client("eve", "developers")
    by_certificate = ("--user=", f"--client-certificate={certificate}", f"--client-key={key}")
    by_token = ("--user=", f"--token={kube_apiserver.tokens['jane']}")
    for name, options in (("eve", by_certificate), ("jane", by_token)):
        who = kubectl(kube_apiserver, *options, "auth", "whoami", "-o", "jsonpath={.status.userInfo}")
        assert f'"username":"{name}"' in who
        assert '"developers"' in who


def test_the_aggregated_roles_have_rules(kube_apiserver: ControlPlane) -> None:
    rules = kubectl(kube_apiserver, "get", "clusterrole", "view", "-o", "jsonpath={.rules[*].resources}")
    assert "configmaps" in rules
