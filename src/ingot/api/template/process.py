"""Templates filled in: parameters become values, and objects with references to them become manifests (G7)."""

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ingot.api.object import Object, name_of
from ingot.api.status import Cause
from ingot.api.template.depth import TOO_DEEP, too_deep
from ingot.api.template.expression import Choose, ExpressionError, generate

# ${NAME} anywhere in a text; ${{NAME}} only as the whole of it.
_TEXT: Final = re.compile(r"\$\{([a-zA-Z0-9_]+)\}")
_VALUE: Final = re.compile(r"\$\{\{([a-zA-Z0-9_]+)\}\}")
# How many characters may be filled in: a long value and many references to it are more than anyone can hold.
MOST_FILLED: Final = 4 << 20


class TemplateError(Exception):
    """A template that cannot be filled in: its name, and each fault with the field that it lies in."""

    def __init__(self, template: Object, faults: Sequence[Cause]) -> None:
        self.name = name_of(template) if template.get("metadata", {}).get("name") else ""
        self.faults = tuple(faults)
        who = f'template "{self.name}"' if self.name else "the template"
        super().__init__(f"{who}: {'; '.join(fault.message for fault in faults)}")


def process(template: Object, given: Mapping[str, str] | None = None, choose: Choose = secrets.choice) -> Object:
    """The template with the values of its parameters in them, and in its objects, labels and message.

    A value is the given one, else the parameter's own, else made of its expression; `choose` says of which characters.
    References to what is no parameter stay as they are. A namespace that an object has without a reference is taken
    away, as OpenShift does: where objects go is said when they are made. Raises TemplateError, which names all
    parameters that are unknown, have no value although they must, or whose expression cannot be read; or the object
    that no manifest can become of.
    """
    parameters = _valued(template, given or {}, choose)
    values = _Values(template, parameters)
    labels = {values.text(key): values.text(value) for key, value in (template.get("labels") or {}).items()}
    objects = [_object(template, at, values, labels) for at in range(len(template.get("objects") or ()))]
    made = {**template, "objects": objects}
    if parameters:
        made["parameters"] = parameters
    if labels:
        made["labels"] = labels
    if template.get("message"):
        made["message"] = values.text(template["message"])
    return made


def _valued(template: Object, given: Mapping[str, str], choose: Choose) -> list[Object]:
    """The parameters, each with its value. Raises TemplateError."""
    parameters = template.get("parameters") or []
    known = [each["name"] for each in parameters]
    unknown = [name for name in given if name not in known]
    faults = [Cause("parameters", _unknown(name, known), "FieldValueNotFound") for name in unknown]
    made = []
    for index, each in enumerate(parameters):
        name = each["name"]
        value = given[name] if name in given else each.get("value", "")
        if not value and name not in given and each.get("generate"):
            try:
                value = generate(each.get("from", ""), choose)
            except ExpressionError as error:
                message = f'parameter "{name}": no value can be made of from: {error}'
                faults.append(Cause(f"parameters[{index}].from", message, "FieldValueInvalid"))
        elif not value and each.get("required"):
            message = f'parameter "{name}" is required: give it as {name}=VALUE'
            faults.append(Cause(f"parameters[{index}].value", message, "FieldValueRequired"))
        made.append({**each, "value": value} if value else {key: each[key] for key in each if key != "value"})
    if faults:
        raise TemplateError(template, faults)
    return made


def _unknown(name: str, known: Sequence[str]) -> str:
    has = f"it has {', '.join(known)}" if known else "it has none"
    return f'there is no parameter "{name}"; {has}'


class _Values:
    """The values of a template's parameters, to be filled in for references to them."""

    def __init__(self, template: Object, parameters: Sequence[Object]) -> None:
        self._template = template
        self._by_name = {each["name"]: each.get("value", "") for each in parameters}
        self._room = MOST_FILLED

    def filled(self, value: Any) -> Any:
        """The same with every reference filled in, in keys too."""
        if isinstance(value, dict):
            return {self.text(key): self.filled(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]
        if not isinstance(value, str):
            return value
        whole = _VALUE.fullmatch(value)
        if whole and whole[1] in self._by_name:
            return _decoded(self._take(whole))
        return self.text(value)

    def text(self, text: str) -> str:
        """The text with references filled in. In one pass: a value that looks like a reference is none."""
        return _TEXT.sub(self._take, text)

    def _take(self, reference: re.Match[str]) -> str:
        value: str = self._by_name.get(reference[1], reference[0])
        self._room -= len(value)
        if self._room < 0:
            message = f"more than {MOST_FILLED} characters would be filled in: shorten the value of {reference[1]}"
            raise TemplateError(self._template, [Cause("objects", message, "FieldValueTooLong")])
        return value


def _decoded(value: str) -> Any:
    """The value as JSON has it; a word that is no JSON is text, as OpenShift takes it."""
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def _placeless(obj: Object) -> Object:
    """The object without a namespace that was written into the template by hand."""
    metadata = obj.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(namespace, str) or _TEXT.search(namespace):
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "namespace"}}


def _object(template: Object, at: int, values: "_Values", labels: Mapping[str, str]) -> Object:
    """One object of the template, filled in. Raises TemplateError, before and after: a value may be anything, too."""
    place, obj = f"objects[{at}]", template["objects"][at]
    if too_deep(obj):
        raise TemplateError(template, [Cause(place, f"{place}: {TOO_DEEP}")])
    made = values.filled(_placeless(obj))
    if too_deep(made):
        raise TemplateError(template, [Cause(place, f"{place}: {TOO_DEEP} with the values in them")])
    metadata = _mapping(template, f"{place}.metadata", made.get("metadata"))
    own = _mapping(template, f"{place}.metadata.labels", metadata.get("labels"))
    return {**made, "metadata": {**metadata, "labels": {**own, **labels}}} if labels else made


def _mapping(template: Object, field: str, value: Any) -> Object:
    """The value, {} for none. Raises TemplateError for what has no keys."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise TemplateError(template, [Cause(field, f"{field}: keys with values are expected, and there are none")])
