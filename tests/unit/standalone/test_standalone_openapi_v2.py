"""OpenAPI v2, in JSON and in protobuf."""

import msgspec

from ingot.api.object import Object
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.openapi import OpenApi, gnostic
from ingot.standalone.openapi.swagger import swagger
from ingot.standalone.protobuf.wire import records
from ingot.standalone.resources.definition import Definition, Version

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def document() -> Object:
    answer = OpenApi(DEFINITIONS).answer("/openapi/v2", "application/json")
    assert answer is not None
    made: Object = msgspec.json.decode(answer.content)
    return made


def custom(schema: Object) -> Object:
    version = Version("v1", {"type": "object", "properties": {"spec": schema}})
    kind = Definition("x.io", "Thing", "things", "thing", True, {"v1": version}, "v1", custom=True)
    definitions = swagger([(kind, version)])["definitions"]
    made: Object = definitions["io.x.v1.Thing"]["properties"]["spec"]
    return made


def test_a_kind_is_defined_in_words_of_the_older_form() -> None:
    made = document()["definitions"]["io.k8s.api.core.v1.ConfigMap"]
    meta = made["properties"]["metadata"]
    assert meta["$ref"] == "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert not {"allOf", "default"} & set(meta)
    assert made["x-kubernetes-group-version-kind"] == [{"group": "", "version": "v1", "kind": "ConfigMap"}]


def test_a_patch_can_be_told_how_strict_to_be() -> None:
    patch = document()["paths"]["/api/v1/namespaces/{name}"]["patch"]
    assert {"name": "fieldValidation", "in": "query"}.items() <= next(
        each for each in patch["parameters"] if each["name"] == "fieldValidation"
    ).items()
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Namespace"


def test_what_may_be_anything_has_no_type() -> None:
    fields = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert custom({**fields, "nullable": True}) == {}
    kept = custom({**fields, "x-kubernetes-preserve-unknown-fields": True})
    assert kept == {"x-kubernetes-preserve-unknown-fields": True}


def test_what_may_be_null_is_not_required() -> None:
    fields = {"a": {"type": "string", "nullable": True}, "b": {"type": "string"}}
    assert custom({"type": "object", "required": ["a", "b"], "properties": fields})["required"] == ["b"]


def fields_of(data: bytes | memoryview) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for number, _, value in records(memoryview(data), "test"):
        found.setdefault(number, []).append(bytes(value) if isinstance(value, memoryview) else bytes([value]))
    return found


def test_protobuf_says_the_same() -> None:
    answer = OpenApi(DEFINITIONS).answer("/openapi/v2", PROTOBUF)
    assert answer is not None
    assert answer.media == gnostic.MEDIA
    made = fields_of(answer.content)
    assert made[1] == [b"2.0"]
    pairs = [fields_of(pair) for pair in fields_of(made[9][0])[1]]
    schemas = {pair[1][0].decode(): fields_of(pair[2][0]) for pair in pairs}
    assert set(schemas) == set(document()["definitions"])
    config_map = schemas["io.k8s.api.core.v1.ConfigMap"]
    assert fields_of(config_map[22][0])[1] == [b"object"]
    names = [fields_of(pair)[1][0] for pair in fields_of(config_map[25][0])[1]]
    assert b"binaryData" in names
