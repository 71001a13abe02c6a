"""The forms of an answer: the object itself, a Table for people, or metadata alone."""

from collections.abc import Sequence

import yaml

from ingot.api.object import Object
from ingot.api.status import bad_request
from ingot.standalone import fields, table
from ingot.standalone.http.negotiate import JSON, YAML, Form
from ingot.standalone.jsontext import encode
from ingot.standalone.resources.served import Served
from ingot.standalone.store.history import Entry

INCLUDED = ("None", "Metadata", "Object")


class Former:
    """Turns objects of one kind into the form that the client asked for."""

    def __init__(self, served: Served, form: Form, include: str) -> None:
        self.served = served
        self.form = form
        self.include = include or "Metadata"
        if form.kind == "Table" and self.include not in INCLUDED:
            fault = fields.invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
            raise bad_request(f"Unable to convert to Table as requested: {fault}")

    @property
    def stream_type(self) -> str:
        return JSON

    def entry(self, entry: Entry) -> bytes:
        """One stored object."""
        if self.form.kind or self.form.media != JSON:
            return self.one(self.served.read(entry))
        return self.served.value(entry)

    def one(self, obj: Object) -> bytes:
        """One object, or a Status, which has no other form."""
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            return self._encode(obj)
        if self.form.kind == "Table":
            meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return self._encode(self.table([obj], meta))
        if self.form.kind == "PartialObjectMetadata":
            return self._encode(partial(obj))
        return self._encode(obj)

    def list_head(self, meta: Object) -> Object:
        """A list of the objects themselves, all but its items."""
        definition = self.served.definition
        if definition.custom:
            # Lists of custom resources say that there is no more, all others leave it out.
            meta.setdefault("continue", "")
        kind = definition.list_kind or definition.kind + "List"
        return {"kind": kind, "apiVersion": self.served.api_version, "metadata": meta}

    def blueprint(self) -> bytes:
        """The list that a watch's initial events could have come in, empty and without metadata."""
        if self.form.kind.startswith("PartialObjectMetadata"):
            head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {}}
        else:
            head = {**self.list_head({}), "metadata": {}}
        return encode({**head, "items": None}) + b"\n"

    def watched(self, obj: Object, first: bool) -> Object:
        """The object of a watch event; only the first Table of a watch names its columns."""
        if self.form.kind == "Table":
            made = self.table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})
            if not first:
                made["columnDefinitions"] = None
            return made
        if self.form.kind.startswith("PartialObjectMetadata"):
            return partial(obj)
        return obj

    def table(self, objects: Sequence[Object], meta: Object) -> Object:
        return table.render(self.served.definition, self.served.version, objects, meta, self.include)

    def _encode(self, obj: Object) -> bytes:
        if self.form.media == YAML:
            return yaml.dump(obj, Dumper=yaml.CSafeDumper, sort_keys=True).encode()
        return encode(obj)


def partial(obj: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
