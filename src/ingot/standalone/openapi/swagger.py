"""The older form of the documents, OpenAPI v2: one for all kinds.

kubectl asks for it wherever it has not found a kind in the newer form, as for every `kind: List`, and checks by it.
"""

from typing import Any

import msgspec

from ingot.api.object import Object
from ingot.standalone.builtin import schemas
from ingot.standalone.openapi.components import components
from ingot.standalone.openapi.paths import paths
from ingot.standalone.resources.definition import Definition, Version

_DEFINITION = "#/definitions/"
# Values that may be strings or numbers, which this form has no word for.
_STRINGS = (schemas.QUANTITY, schemas.INT_OR_STRING)
_DROPPED = ("allOf", "anyOf", "oneOf", "not", "nullable", "default")


def swagger(kinds: list[tuple[Definition, Version]]) -> Object:
    """The document of these kinds."""
    items: Object = {}
    for definition, version in kinds:
        items |= {path: _path_item(item) for path, item in paths(definition, version).items()}
    definitions = {}
    for name, schema in components(kinds).items():
        definitions[name] = _schema(msgspec.json.decode(schema) if isinstance(schema, msgspec.Raw) else schema)
        if name in _STRINGS:
            definitions[name]["type"] = "string"
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.32.13"},
        "paths": dict(sorted(items.items())),
        "definitions": definitions,
    }


def _schema(schema: Object) -> Object:
    """A schema without what the older form cannot say. Clients get less to check by, never something wrong."""
    made = {key: value for key, value in schema.items() if key not in _DROPPED}
    for part in schema.get("allOf", ()):
        if "$ref" in part:
            made["$ref"] = part["$ref"]
    if "$ref" in made:
        made["$ref"] = _DEFINITION + made["$ref"].removeprefix(schemas.REFERENCE)
    if schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields"):
        # kubectl cannot cope with fields of what may be anything.
        for key in ("items", "properties", "type"):
            made.pop(key, None)
    if "properties" in made:
        made["properties"] = {field: _schema(child) for field, child in made["properties"].items()}
        _drop_nullable(made, schema["properties"])
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = _schema(made[key])
    return made


def _drop_nullable(made: Object, properties: dict[str, Object]) -> None:
    required = [field for field in made.get("required", ()) if not properties.get(field, {}).get("nullable")]
    made.pop("required", None)
    if required:
        made["required"] = required


def _path_item(item: Object) -> Object:
    return {
        key: [_parameter(each) for each in value] if key == "parameters" else _operation(value)
        for key, value in item.items()
    }


def _operation(operation: Object) -> Object:
    made = {key: value for key, value in operation.items() if key not in ("parameters", "requestBody", "responses")}
    parameters = [_parameter(each) for each in operation["parameters"]]
    if body := operation.get("requestBody"):
        made["consumes"] = list(body["content"])
        head = {"name": "body", "in": "body", "required": body.get("required", False)}
        parameters.append({**head, "schema": _content(body["content"])})
    made["produces"] = list(operation["responses"]["200"]["content"])
    made["parameters"] = parameters
    made["responses"] = {code: _response(answer) for code, answer in operation["responses"].items()}
    return made


def _response(answer: Object) -> Object:
    made = {"description": answer["description"]}
    return {**made, "schema": _content(answer["content"])} if "content" in answer else made


def _content(content: dict[str, Any]) -> Object:
    return _schema(next(iter(content.values()))["schema"])


def _parameter(parameter: Object) -> Object:
    made = {key: value for key, value in parameter.items() if key != "schema"}
    return {**made, **parameter["schema"]}
