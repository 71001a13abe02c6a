"""The Helm chart stamps out a machine from a golden image, in both of the design's forms (G7)."""

import base64
import json
from pathlib import Path
from uuid import uuid4

import pytest
import yaml
from click.testing import CliRunner

from ingot.cli.main import cli
from ingot_up import IngotUp
from kube.cluster import ControlPlane
from kube.helm import Helm
from kube.tool import HELM

CHART = Path(__file__).parents[2] / "deploy" / "charts" / "vm"
KEY = "ssh-ed25519 AAAAC3Nza jane@example"


@pytest.fixture
def namespace(equipped: IngotUp | ControlPlane) -> str:
    name = f"chart-{uuid4().hex[:8]}"
    made = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    ingot(equipped, "apply", "-f", "-", stdin=made)
    return name


@pytest.fixture
def helm(equipped: IngotUp | ControlPlane, tmp_path: Path) -> Helm:
    found = HELM.program()
    if found is None:
        pytest.skip(HELM.why_not())
    return Helm(found, tmp_path, equipped.kubeconfig)


def ingot(server: IngotUp | ControlPlane, *arguments: str, stdin: str = "") -> str:
    done = CliRunner().invoke(cli, [*arguments, "--kubeconfig", str(server.kubeconfig)], input=stdin)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_what_it_renders_is_taken_by_the_server(
    equipped: IngotUp | ControlPlane, helm: Helm, namespace: str, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    # With the line's end, as --set-file takes a key from a file.
    given = {"user": "jane", "sshKeys": [f"{KEY}\n"], "disk": {"size": "10Gi"}, "runStrategy": "Halted"}
    values.write_text(yaml.safe_dump(given))
    rendered = helm("template", "web", str(CHART), "--namespace", namespace, "--values", str(values))
    applied = ingot(equipped, "apply", "-f", "-", "-n", namespace, stdin=rendered)
    assert set(applied.splitlines()) == {"secret/web-userdata created", "virtualmachine.kubevirt.io/web created"}
    secret = json.loads(ingot(equipped, "get", "secret", "web-userdata", "-n", namespace, "-o", "json"))
    told = base64.b64decode(secret["data"]["userdata"]).decode()
    assert told.startswith("#cloud-config\n")
    assert yaml.safe_load(told) == {"user": "jane", "ssh_authorized_keys": [KEY]}
    machine = json.loads(ingot(equipped, "get", "vm", "web", "-n", namespace, "-o", "json"))
    spec = machine["spec"]["dataVolumeTemplates"][0]["spec"]
    assert spec["sourceRef"] == {"kind": "DataSource", "name": "fedora", "namespace": "golden-images"}
    assert spec["storage"] == {"resources": {"requests": {"storage": "10Gi"}}}
    assert KEY not in json.dumps(machine)


@pytest.mark.parametrize("name", ["2024", "1e3", "true", "null"])
def test_a_release_may_have_any_name(helm: Helm, name: str) -> None:
    given = ("--set-string", "userData=x")
    secret, machine = yaml.safe_load_all(helm("template", name, str(CHART), *given))
    assert (secret["metadata"]["name"], machine["metadata"]["name"]) == (f"{name}-userdata", name)
    assert machine["spec"]["dataVolumeTemplates"][0]["metadata"]["name"] == name
    assert machine["spec"]["template"]["spec"]["volumes"][0]["dataVolume"]["name"] == name
    assert machine["spec"]["template"]["metadata"]["labels"]["kubevirt.io/domain"] == name
    assert machine["metadata"]["labels"]["app.kubernetes.io/instance"] == name


def test_it_is_installed_upgraded_and_removed_by_helm_itself(
    equipped: IngotUp | ControlPlane, helm: Helm, namespace: str
) -> None:
    there = ("--namespace", namespace)
    options = ("--set", "runStrategy=Halted", "--set", "source.kind=PersistentVolumeClaim")
    said = helm("install", "web", str(CHART), *there, *options)
    assert "is cloned from PersistentVolumeClaim golden-images/fedora" in said
    helm("upgrade", "web", str(CHART), *there, *options, "--set", "memory=4Gi,network=false")
    machine = json.loads(ingot(equipped, "get", "vm", "web", "-n", namespace, "-o", "json"))
    spec = machine["spec"]["dataVolumeTemplates"][0]["spec"]
    assert spec["source"] == {"pvc": {"name": "fedora", "namespace": "golden-images"}}
    domain = machine["spec"]["template"]["spec"]["domain"]
    assert (domain["memory"]["guest"], domain["devices"]["autoattachPodInterface"]) == ("4Gi", False)
    helm("uninstall", "web", *there, "--wait")
    assert (
        "No resources"
        in CliRunner().invoke(cli, ["get", "vm", "-n", namespace, "--kubeconfig", str(equipped.kubeconfig)]).output
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("user=x,userData=y", "at most one of user with sshKeys, userData and userDataSecret"),
        ("memory=lots", "memory"),
        ("source.kind=Disk", "source.kind"),
        ("sourse.name=x", "sourse"),
    ],
)
def test_values_that_make_no_machine_are_refused(helm: Helm, given: str, told: str) -> None:
    assert told in helm("template", "web", str(CHART), "--set", given, code=1)
