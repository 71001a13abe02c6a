"""What deploy/ gives Ingot's own pods on a cluster: the rights that are listed, and no powers beyond them."""

from itertools import chain
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
OBJECTS = [
    (file.name, each)
    for file in sorted(DEPLOY.glob("*.yaml"))
    for each in yaml.load_all(file.read_text(), yaml.CSafeLoader)
]
ROLES = [(name, each) for name, each in OBJECTS if each["kind"] in ("Role", "ClusterRole")]
DEPLOYMENTS = [each for _, each in OBJECTS if each["kind"] == "Deployment"]


@pytest.mark.parametrize(("file", "role"), ROLES)
def test_a_role_names_what_it_gives(file, role):
    for rule in role["rules"]:
        said = chain(rule["apiGroups"], rule["resources"], rule["verbs"])
        assert "*" not in said, (file, rule)
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), (file, rule)


@pytest.mark.parametrize(("file", "role"), ROLES)
def test_nobody_may_list_secrets(file, role):
    for rule in role["rules"]:
        if "secrets" in rule["resources"] and "resourceNames" not in rule:
            assert set(rule["verbs"]) <= {"get", "create", "delete"}, (file, rule)


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda each: each["metadata"]["name"])
def test_pods_have_no_powers_and_write_nowhere_but_to_volumes(deployment):
    spec = deployment["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in spec["containers"]:
        given = container["securityContext"]
        assert given["readOnlyRootFilesystem"] is True
        assert given["allowPrivilegeEscalation"] is False
        assert given["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda each: each["metadata"]["name"])
def test_prometheus_finds_a_page_in_every_pod(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    (port,) = (each["containerPort"] for each in container["ports"] if each["name"] == "metrics")
    assert container["args"][container["args"].index("--metrics") + 1] == f":{port}"
    assert deployment["metadata"]["labels"]["app.kubernetes.io/name"] == "ingot"
