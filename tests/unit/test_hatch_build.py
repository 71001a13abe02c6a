"""The schemas of Kubernetes' kinds, as the build makes them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "hatch_build.py"


@pytest.fixture(scope="module")
def build() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", SOURCE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(build: Any) -> dict[str, Any]:
    definitions: dict[str, Any] = build.definitions(build.load())
    return definitions


def schemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("oneOf", [])]
    for child in (*inner, schema.get("items"), schema.get("additionalProperties")):
        if isinstance(child, dict):
            yield from schemas(child)


def test_everything_referred_to_is_there(made: dict[str, Any]) -> None:
    lacking = {
        schema["$ref"]
        for definition in made.values()
        for schema in schemas(definition)
        if schema.get("$ref", "").removeprefix("#/components/schemas/") not in {*made, ""}
    }
    assert not lacking


def test_it_is_openapi_and_not_json_schema(made: dict[str, Any]) -> None:
    every = [schema for definition in made.values() for schema in schemas(definition)]
    assert {type(schema["type"]) for schema in every if "type" in schema} == {str}
    config_map = made["io.k8s.api.core.v1.ConfigMap"]["properties"]
    assert config_map["kind"]["type"] == "string"
    assert "enum" not in config_map["kind"]


def test_what_patches_need_is_kept(made: dict[str, Any]) -> None:
    containers = made["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]
    assert containers["items"] == {"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}


def test_a_kind_brings_its_list_and_nothing_unserved_comes_along(made: dict[str, Any]) -> None:
    assert "io.k8s.api.core.v1.PodList" in made
    assert not [name for name in made if name.startswith("io.k8s.api.networking")]


def test_the_file_is_left_alone_when_nothing_has_changed(build: Any, tmp_path: Path) -> None:
    target = build.write(tmp_path)
    before = target.stat()
    assert build.write(tmp_path) == target
    assert (target.stat().st_ino, target.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "io.k8s.api.core.v1.Pod" in json.loads(target.read_text())
    assert [path.name for path in target.parent.iterdir()] == ["definitions.json"]
