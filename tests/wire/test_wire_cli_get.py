"""`ingot get` and `ingot describe` against a live API server."""

import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import yaml
from click.testing import CliRunner

from ingot.cli.main import cli
from ingot.cli.yamltext import to_yaml
from wire.cli import PROGRAM, Ingot, config_map


def test_tables_are_sorted_and_name_types_where_there_are_several(ingot: Ingot) -> None:
    ingot.apply(config_map("zz", {"app": "web"}, a="1", b="2"), config_map("aa", a="1"))
    rows = [line.split() for line in ingot("get", "configmaps", "--selector", "app=web").stdout.splitlines()]
    assert rows[0] == ["NAME", "DATA", "AGE"]
    assert rows[1][:2] == ["zz", "2"]
    names = [line.split()[0] for line in ingot("get", "cm", "aa", "zz").stdout.splitlines()]
    assert names == ["NAME", "aa", "zz"]
    several = ingot("get", "cm,sa").stdout
    assert "\nconfigmap/aa " in several
    everywhere = ingot("get", "cm", "-A", "--field-selector", "metadata.name=aa").stdout.splitlines()
    assert everywhere[0].split() == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert ingot.namespace in [line.split()[0] for line in everywhere[1:]]


def test_objects_in_full(ingot: Ingot) -> None:
    ingot.apply(config_map("one", text="a\nb\n", when="12:30"), config_map("two"))
    one = ingot.json("get", "cm", "one")
    assert one["data"] == {"text": "a\nb\n", "when": "12:30"}
    assert "managedFields" not in one["metadata"]
    assert yaml.safe_load(ingot("get", "cm", "one", "-o", "yaml").stdout) == one
    many = ingot.json("get", "cm/one", "cm/two")
    assert (many["kind"], [item["kind"] for item in many["items"]]) == ("List", ["ConfigMap", "ConfigMap"])
    assert ingot("get", "cm/two", "cm/one", "-o", "name").stdout == "configmap/two\nconfigmap/one\n"


def test_what_is_shown_can_be_applied_again(ingot: Ingot) -> None:
    ingot.apply(config_map("one", yes="on", number="1e3"))
    shown = yaml.safe_load(ingot("get", "cm", "one", "-o", "yaml").stdout)
    again = {key: shown[key] for key in ("apiVersion", "kind", "data")} | {"metadata": {"name": "copy"}}
    assert ingot("apply", "-f", "-", stdin=to_yaml(again)).exit_code == 0
    assert ingot.json("get", "cm", "copy")["data"] == {"yes": "on", "number": "1e3"}


def test_what_is_not_there(ingot: Ingot) -> None:
    nothing = ingot("get", "secrets")
    assert (nothing.stdout, nothing.stderr) == ("", f"No resources found in {ingot.namespace} namespace.\n")
    assert ingot.json("get", "secrets")["items"] == []
    ingot.apply(config_map("one"))
    half = ingot("get", "cm", "one", "nope", code=1)
    assert half.stdout.split()[3] == "one"
    assert half.stderr == 'Error: configmaps "nope" not found\n'
    assert 'configmaps "nope" not found' in ingot("describe", "cm", "nope", code=1).stderr
    assert 'no resource type "frobs"' in ingot("get", "frobs", code=1).stderr
    assert "Did you mean configmaps?" in ingot("get", "confimaps", code=1).stderr


def test_an_object_is_described_with_its_events(ingot: Ingot) -> None:
    ingot.apply(config_map("told", {"app": "web"}, colour="red"))
    obj = ingot.json("get", "cm", "told")
    for number, moment in enumerate(["2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z"]):
        reference = {"kind": "ConfigMap", "name": "told", "namespace": ingot.namespace, "uid": obj["metadata"]["uid"]}
        ingot.apply(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"told.{number}"},
                "involvedObject": {"apiVersion": "v1", **reference},
                "reason": f"Painted{number}",
                "message": "it is red",
                "type": "Normal",
                "lastTimestamp": moment,
                "source": {"component": "painter"},
            }
        )
    shown = ingot("describe", "cm/told").stdout
    assert "Name:         told" in shown
    assert "Data:\n  colour: red" in shown
    assert shown.index("Painted1") < shown.index("Painted0")
    (entry,) = ingot.json("describe", "cm", "told")
    assert [event["reason"] for event in entry["events"]] == ["Painted1", "Painted0"]


def test_a_watch_shows_changes_until_it_is_interrupted(ingot: Ingot) -> None:
    ingot.apply(config_map("first", a="1"))
    watch = ingot.start("get", "cm", "--watch", "--field-selector", "metadata.name!=kube-root-ca.crt")
    assert watch.stdout is not None
    assert watch.stdout.readline().split() == ["NAME", "DATA", "AGE"]
    assert watch.stdout.readline().split()[:2] == ["first", "1"]
    ingot.apply(config_map("second", a="1", b="2"))
    assert watch.stdout.readline().split()[:2] == ["second", "2"]
    ingot("delete", "cm", "first")
    assert watch.stdout.readline().split()[0::3] == ["first", "(deleted)"]
    watch.send_signal(signal.SIGINT)
    out, err = watch.communicate(timeout=20)
    assert (watch.returncode, out, err) == (130, "", "")


def test_a_watch_of_one_object_gives_it_in_full(ingot: Ingot) -> None:
    ingot.apply(config_map("one", a="1"), config_map("other"))
    watch = ingot.start("get", "cm", "one", "--watch", "-o", "json")
    assert watch.stdout is not None
    found: list[dict[str, str]] = []
    decoder = json.JSONDecoder()
    text = ""
    while len(found) < 2:
        text += watch.stdout.readline()
        if text.endswith("\n}\n"):
            found.append(decoder.decode(text)["data"])
            text = ""
            if len(found) == 1:
                ingot.apply(config_map("other", x="y"), config_map("one", a="2"))
    watch.send_signal(signal.SIGINT)
    watch.communicate(timeout=20)
    assert found == [{"a": "1"}, {"a": "2"}]


def test_a_table_is_cut_to_the_terminal(ingot: Ingot) -> None:
    name = "a-name-that-is-far-too-long-for-a-terminal-of-forty-columns"
    ingot.apply(config_map(name))
    leader, follower = pty.openpty()
    line = [*PROGRAM, "get", "cm", name, *ingot.options]
    done = subprocess.run(
        line, stdout=follower, stderr=subprocess.PIPE, env=os.environ | {"COLUMNS": "40"}, timeout=60, check=True
    )
    os.close(follower)
    shown = os.read(leader, 10_000).decode().splitlines()
    os.close(leader)
    assert done.stderr == b""
    assert max(len(line) for line in shown) <= 40
    assert "…" in shown[1]


def test_a_server_that_is_not_there_is_told_in_two_lines(kubeconfig: Path, tmp_path: Path) -> None:
    gone = tmp_path / "kubeconfig"
    gone.write_text(re.sub(r"server: .*", "server: https://127.0.0.1:1", kubeconfig.read_text()))
    result = CliRunner().invoke(cli, ["get", "pods", "--kubeconfig", str(gone)])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"Error: cannot talk to https://127.0.0.1:1 (from {gone}): nothing listens there",
        f"Start a server with `ingot up --dir {tmp_path} --detach`, or name another with --kubeconfig.",
    ]


def test_credentials_that_are_not_known_are_told_so(kubeconfig: Path, tmp_path: Path) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": "forged"}
    forged = tmp_path / "forged"
    forged.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(cli, ["get", "pods", "--kubeconfig", str(forged)])
    assert result.exit_code == 1
    assert "does not know these credentials" in result.stderr
