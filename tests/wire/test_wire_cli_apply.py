"""`ingot apply` against a live API server."""

import json
import re
from pathlib import Path
from uuid import uuid4

import yaml
from click.testing import CliRunner

from ingot.cli.main import cli
from wire.cli import Ingot, config_map, write_as_other


def test_an_apply_says_what_it_did(ingot: Ingot) -> None:
    assert ingot.apply(config_map("one", a="1")).stdout == "configmap/one created\n"
    assert ingot.apply(config_map("one", a="1")).stdout == "configmap/one unchanged\n"
    assert ingot.apply(config_map("one", a="2")).stdout == "configmap/one configured\n"
    (entry,) = ingot.json("get", "configmap/one", "--show-managed-fields")["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("ingot", "Apply")


def test_a_dry_run_stores_nothing_and_says_what_would_be(ingot: Ingot) -> None:
    dry = ("--dry-run",)
    assert ingot.apply(config_map("one", a="1"), arguments=dry).stdout == "configmap/one created (dry run)\n"
    ingot("get", "configmap", "one", code=1)
    ingot.apply(config_map("one", a="1"))
    assert ingot.apply(config_map("one", a="1"), arguments=dry).stdout == "configmap/one unchanged (dry run)\n"
    assert ingot.apply(config_map("one", a="2"), arguments=dry).stdout == "configmap/one configured (dry run)\n"
    assert ingot("delete", "configmap", "one", "--dry-run").stdout == "configmap/one deleted (dry run)\n"
    assert ingot.json("get", "configmap", "one")["data"] == {"a": "1"}


def test_namespaces_come_before_what_lives_in_them(kubeconfig: Path, tmp_path: Path) -> None:
    name = f"cli-{uuid4().hex[:8]}"
    inside = config_map("inside")
    inside["metadata"]["namespace"] = name
    file = tmp_path / "all.yaml"
    outside = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    file.write_text(yaml.safe_dump_all([inside, outside]))
    options = ["-f", str(file), "--kubeconfig", str(kubeconfig)]
    dry = CliRunner().invoke(cli, ["apply", "--dry-run", *options])
    assert "configmap/inside not checked" in dry.stdout
    assert CliRunner().invoke(cli, ["apply", *options]).stdout.split("\n")[:2] == [
        f"namespace/{name} created",
        "configmap/inside created",
    ]
    done = CliRunner().invoke(cli, ["delete", *options])
    assert done.stdout.split("\n")[:2] == ["configmap/inside deleted", f"namespace/{name} deleted"]
    assert done.exit_code == 0


def test_new_kinds_are_established_before_their_objects(ingot: Ingot) -> None:
    word = f"w{uuid4().hex[:8]}"
    kind = word.capitalize()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{word}s.cli.test"},
        "spec": {
            "group": "cli.test",
            "scope": "Namespaced",
            "names": {"plural": f"{word}s", "singular": word, "kind": kind, "shortNames": [f"x{word}"]},
            "versions": [version],
        },
    }
    custom = {"apiVersion": "cli.test/v1", "kind": kind, "metadata": {"name": "first"}, "spec": {"a": 1}}
    dry = ingot.apply(custom, crd, arguments=("--dry-run",))
    assert "not checked" in dry.stdout
    assert "first created" in ingot.apply(custom, crd).stdout
    assert f"{word}.cli.test/first" in ingot("get", f"x{word}", "-o", "name").stdout
    assert "first deleted" in ingot("delete", f"{word}s.cli.test", "--all").stdout
    assert "deleted" in ingot("delete", "crd", f"{word}s.cli.test").stdout


def test_one_bad_object_does_not_stop_the_others_and_is_told_by_its_place(ingot: Ingot) -> None:
    file = ingot.directory / "mixed.yaml"
    bad = config_map("bad", a=1)
    unknown = {"apiVersion": "v1", "kind": "Frob", "metadata": {"name": "f"}}
    port = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 99999}]}}
    file.write_text(yaml.safe_dump_all([bad, unknown, port, config_map("good")], sort_keys=False))
    result = ingot("apply", "-f", str(file), code=1)
    assert result.stdout == "configmap/good created\n"
    assert f"{file}, document 1, line 1: configmap/bad" in result.stderr
    assert re.search(r"data\.a \(line 6\): .*string", result.stderr)
    assert "the server has no kind Frob in v1" in result.stderr
    assert re.search(r"spec\.ports\[0\]\.port \(line \d+\): .*65535", result.stderr)
    results = json.loads(ingot("apply", "-f", str(file), "-o", "json", code=1).stdout)
    assert [entry["result"] for entry in results] == ["failed", "failed", "failed", "unchanged"]


def test_fields_of_another_manager_are_taken_over_only_by_force(ingot: Ingot, kubeconfig: Path) -> None:
    ingot.apply(config_map("shared", a="1"))
    write_as_other(kubeconfig, ingot.namespace, "shared", {"data": {"a": "theirs"}})
    result = ingot.apply(config_map("shared", a="ours"), code=1)
    assert "data.a (line" in result.stderr
    assert "--force-conflicts" in result.stderr
    assert ingot.json("get", "cm/shared")["data"] == {"a": "theirs"}
    assert ingot.apply(config_map("shared", a="ours"), arguments=("--force-conflicts",)).exit_code == 0
    assert ingot.json("get", "cm/shared")["data"] == {"a": "ours"}


def test_a_manifest_for_another_namespace_is_refused(ingot: Ingot) -> None:
    obj = config_map("one")
    obj["metadata"]["namespace"] = "elsewhere"
    assert "metadata.namespace is elsewhere" in ingot.apply(obj, code=1).stderr


def test_a_missing_namespace_is_told_with_the_cure(ingot: Ingot) -> None:
    result = CliRunner().invoke(
        cli, ["apply", "-f", "-", *ingot.options[:2], "-n", "no-such-place"], input=yaml.safe_dump(config_map("x"))
    )
    assert result.exit_code == 1
    assert "Apply a Namespace no-such-place first" in result.stderr
