"""Templates are filled in by `ingot template process`, and by the server of one machine as OpenShift does it (G7)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, MACHINES, PROCESSED_TEMPLATES, TEMPLATES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import IngotUp
from wire.cli import Ingot
from wire.people import People, people_of

COMMON = Path(__file__).parents[2] / "src" / "ingot" / "templates"
AFTER = {"sourceRef": {"kind": "DataSource", "name": "fedora", "namespace": "${PLACE}"}}
BEFORE = {"source": {"pvc": {"name": "fedora", "namespace": "${PLACE}"}}}


@pytest.fixture
async def people(ingot_server: IngotUp) -> AsyncIterator[People]:
    async with people_of(ingot_server) as both:
        yield both


@pytest.fixture
def ingot(ingot_server: IngotUp, people: People, tmp_path: Path) -> Ingot:
    return Ingot(ingot_server.kubeconfig, people.namespace, tmp_path)


def template(name: str, place: str, volume: Object = AFTER) -> Object:
    machine = {
        "apiVersion": MACHINES.api_version,
        "kind": "VirtualMachine",
        "metadata": {"name": "${NAME}"},
        "spec": {
            "runStrategy": "Halted",
            "dataVolumeTemplates": [{"metadata": {"name": "${NAME}"}, "spec": {"storage": {}, **volume}}],
            "template": {
                "spec": {
                    "domain": {"cpu": {"cores": "${{CORES}}"}, "devices": {"disks": [{"name": "root", "disk": {}}]}},
                    "volumes": [{"name": "root", "dataVolume": {"name": "${NAME}"}}],
                }
            },
        },
    }
    return {
        "apiVersion": TEMPLATES.api_version,
        "kind": "Template",
        "metadata": {"name": name},
        "message": "Made ${NAME}.",
        "objects": [machine],
        "parameters": [
            {"name": "NAME", "required": True, "description": "Its name"},
            {"name": "CORES", "value": "2"},
            {"name": "PLACE", "value": place},
        ],
    }


async def test_the_server_fills_in_what_it_is_sent_and_stores_nothing(people: People) -> None:
    asked = template("vm", people.namespace)
    asked["parameters"][0]["value"] = "web"
    made = await people.create(PROCESSED_TEMPLATES, asked)
    assert made["kind"] == "Template"
    (machine,) = made["objects"]
    assert machine["metadata"]["name"] == "web"
    assert machine["spec"]["template"]["spec"]["domain"]["cpu"]["cores"] == 2
    assert made["message"] == "Made web."
    assert (await people.admin.list(TEMPLATES, people.namespace))["items"] == []


async def test_what_cannot_be_filled_in_is_refused_by_field(people: People) -> None:
    with pytest.raises(ApiError) as lacking:
        await people.create(PROCESSED_TEMPLATES, template("vm", "here"))
    (cause,) = (lacking.value.details or {})["causes"]
    assert (lacking.value.code, cause["field"]) == (422, "parameters[0].value")
    for wrong in (
        {"kind": "Template", "apiVersion": TEMPLATES.api_version},
        {**template("vm", "here"), "objects": [{}]},
    ):
        with pytest.raises(ApiError) as none:
            await people.create(PROCESSED_TEMPLATES, wrong)
        assert none.value.code == 422
    for verb in (
        people.admin.list(PROCESSED_TEMPLATES, "default"),
        people.admin.get(PROCESSED_TEMPLATES, "x", "default"),
    ):
        with pytest.raises(ApiError) as absent:
            await verb
        assert absent.value.code == 404


def test_a_template_of_the_server_is_filled_in_and_applied_in_one_line(ingot: Ingot, people: People) -> None:
    ingot.apply(template("vm", people.namespace))
    made = ingot("template", "process", "vm", "-p", "NAME=web", "-p", "CORES=1")
    assert made.stderr == "Made web.\n"
    assert "virtualmachine.kubevirt.io/web created" in ingot("apply", "-f", "-", stdin=made.stdout).stdout
    found = ingot.json("get", "vm", "web")
    assert found["spec"]["dataVolumeTemplates"][0]["spec"]["sourceRef"]["namespace"] == people.namespace
    listed = ingot("template", "process", f"{people.namespace}/vm", "--parameters").stdout
    assert listed.splitlines()[1].split() == ["NAME", "Its", "name", "yes"]
    missing = ingot("template", "process", "nope", code=1).stderr
    assert f"there is no template nope in namespace {people.namespace}\n`ingot template ls -A` shows" in missing
    refused = ingot("template", "process", "vm", "-p", "NAM=web", code=1).stderr
    assert 'there is no parameter "NAM"; it has NAME, CORES, PLACE' in refused
    assert 'parameter "NAME" is required: give it as NAME=VALUE' in refused


def test_a_template_in_a_file_needs_no_server_and_values_need_no_command_line(ingot: Ingot, tmp_path: Path) -> None:
    values = tmp_path / "values"
    values.write_text("# Of one's own\nNAME=web\nCLOUD_USER_PASSWORD=a=b c\n")
    ingot.options = []
    arguments = ("--filename", str(COMMON / "fedora.yaml"), "--param-file", str(values))
    (machine,) = yaml.safe_load(ingot("template", "process", *arguments).stdout)["items"]
    data = machine["spec"]["template"]["spec"]["volumes"][1]["cloudInitNoCloud"]["userData"]
    assert "password: a=b c\n" in data
    (same,) = ingot.json("template", "process", *arguments)["items"]
    assert same == machine
    values.write_text("secret\n")
    refused = ingot("template", "process", *arguments, code=2).stderr
    assert f"{values}, line 1: NAME=VALUE is expected" in refused
    assert "secret" not in refused
    for text in ("kind: Template\napiVersion: v1\nmetadata: {name: x}\nobjects: 1", "kind: X\napiVersion: v1"):
        values.write_text(text)
        assert "Error" in ingot("template", "process", "--filename", str(values), code=1).stderr


def test_templates_are_listed_with_what_they_start_from_in_both_forms(
    ingot: Ingot, people: People, ingot_server: IngotUp
) -> None:
    place = people.namespace
    ingot.apply(template("after", place), template("before", place, BEFORE), template("none", place, {"source": {}}))
    rows = {row["name"]: (row["source"], row["state"]) for row in ingot.json("template", "ls")}
    after, before = f"DataSource {place}/fedora", f"PersistentVolumeClaim {place}/fedora"
    assert rows == {"after": (after, "missing"), "before": (before, "missing"), "none": ("", "")}
    metadata = {"name": "fedora", "namespace": place}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
    pointing = {"source": {"pvc": {"name": "fedora", "namespace": place}}}
    link = {"apiVersion": DATA_SOURCES.api_version, "kind": "DataSource", "metadata": metadata, "spec": pointing}
    ingot.apply(claim, link)
    states = {row["name"]: row["state"] for row in ingot.json("template", "ls")}
    assert states == {"after": "missing", "before": "available", "none": ""}
    asyncio.run(make_ready(ingot_server, place))
    states = {row["name"]: row["state"] for row in ingot.json("template", "ls")}
    assert states["after"] == "available"


async def make_ready(server: IngotUp, namespace: str) -> None:
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    async with Client.connect(load(server.kubeconfig)) as client:
        await client.patch(DATA_SOURCES, "fedora", ready, namespace, subresource="status")
