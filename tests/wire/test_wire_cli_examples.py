"""Every example that we print can be applied, and deleted again."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ingot.cli.main import cli
from ingot_up import IngotUp
from kube.cluster import ControlPlane

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(file for file in (ROOT / "examples").rglob("*.yaml"))
# A clone of a golden image is refused before its DataSource is there, which a controller makes of another example.
CLONE = ROOT / "examples" / "golden" / "clone.yaml"
GOLDEN = """
apiVersion: v1
kind: Namespace
metadata: {name: golden-images}
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataSource
metadata: {name: fedora, namespace: golden-images}
spec: {source: {pvc: {name: fedora-1, namespace: golden-images}}}
"""


@pytest.mark.parametrize("file", [each for each in EXAMPLES if each != CLONE], ids=lambda file: file.name)
def test_every_example_applies_as_it_stands(ingot_server: IngotUp, file: Path) -> None:
    _apply_and_delete(ingot_server.kubeconfig, file)


def test_the_clone_of_a_golden_image_applies_once_the_image_is_there(ingot_server: IngotUp, tmp_path: Path) -> None:
    image = tmp_path / "image.yaml"
    image.write_text(GOLDEN)
    options = ["-f", str(image), "--kubeconfig", str(ingot_server.kubeconfig)]
    refused = CliRunner().invoke(cli, ["apply", "-f", str(CLONE), *options[2:]])
    assert refused.exit_code == 1
    assert 'DataSource "golden-images/fedora" is not there' in refused.output
    assert CliRunner().invoke(cli, ["apply", *options]).exit_code == 0
    _apply_and_delete(ingot_server.kubeconfig, CLONE)
    assert CliRunner().invoke(cli, ["delete", *options]).exit_code == 0


def test_the_examples_apply_on_a_cluster_that_has_the_kinds(kube_apiserver: ControlPlane) -> None:
    kinds = ["-f", str(ROOT / "deploy" / "crds"), "--kubeconfig", str(kube_apiserver.kubeconfig)]
    applied = CliRunner().invoke(cli, ["apply", *kinds, "-o", "json"])
    assert applied.exit_code == 0, applied.output
    made = [entry["object"] for entry in json.loads(applied.stdout) if entry["result"] == "created"]
    for file in EXAMPLES:
        # The seeds' shapes are converted by a webhook, which runs where Ingot is installed; and claims are let go by
        # a controller that does not run beside this server.
        if not any(part in file.read_text() for part in ("kubevirt.io/v1alpha1", "kind: PersistentVolumeClaim")):
            _apply_and_delete(kube_apiserver.kubeconfig, file)
    if made:
        options = ["--kubeconfig", str(kube_apiserver.kubeconfig)]
        assert CliRunner().invoke(cli, ["delete", *made, *options]).exit_code == 0


def _apply_and_delete(kubeconfig: Path, file: Path) -> None:
    options = ["-f", str(file), "--kubeconfig", str(kubeconfig)]
    for command, outcome in (("apply", "created"), ("apply", "unchanged"), ("delete", "deleted")):
        done = CliRunner().invoke(cli, [command, *options])
        assert done.exit_code == 0, done.output
        assert {line.split(" ")[1] for line in done.stdout.splitlines()} == {outcome}, done.output
