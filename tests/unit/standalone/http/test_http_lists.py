"""Lists in pieces: together they are what the list would be in one."""

import json

import msgspec
import pytest
import yaml

from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.http import lists
from ingot.standalone.http.forms import Former
from ingot.standalone.http.negotiate import JSON, YAML, Form
from ingot.standalone.jsontext import encode
from ingot.standalone.objects.reader import Listing
from ingot.standalone.resources.served import Served
from ingot.standalone.store.history import Entry

CONFIG_MAPS = next(kind for kind in DEFINITIONS if kind.key == "configmaps")
SERVED = Served(CONFIG_MAPS, CONFIG_MAPS.versions["v1"])
TEXT = 'a "quoted" text,\nin lines of its own, and long enough to be folded over several of them where YAML does so'


def entry(number: int) -> Entry:
    metadata = {"name": f"n{number}", "namespace": "a", "resourceVersion": str(number)}
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"key": TEXT, "empty": ""}}
    return Entry("a", f"n{number}", number, encode(obj))


def listing(count: int) -> Listing:
    return Listing(7, [entry(number) for number in range(count)], "more", 3)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two or three objects to a piece."""
    monkeypatch.setattr(lists, "PIECE", 700)


def made(form: Form, count: int, indented: bool = False) -> list[bytes]:
    return list(lists.pieces(Former(SERVED, form, ""), listing(count), indented))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
@pytest.mark.parametrize("kind", ["", "Table", "PartialObjectMetadataList"])
def test_the_forms_of_a_list_agree(kind: str, count: int) -> None:
    plain = b"".join(made(Form(JSON, kind), count))
    found = json.loads(plain)
    assert plain == encode(found), "no space, no comma too many"
    assert b"".join(made(Form(JSON, kind), count, indented=True)) == msgspec.json.format(plain, indent=2)
    expected = yaml.dump(found, Dumper=yaml.CSafeDumper, sort_keys=True).encode()
    if kind:
        assert b"".join(made(Form(YAML, kind), count)) == expected
    else:
        assert [item["data"]["key"] for item in found["items"]] == [TEXT] * count


@pytest.mark.parametrize("count", [0, 3])
def test_a_list_in_yaml_is_one_document(count: int) -> None:
    head = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": listing(0).metadata()}
    whole = {**head, "items": [json.loads(found.value) for found in listing(count).entries]}
    assert b"".join(made(Form(YAML), count)) == yaml.dump(whole, Dumper=yaml.CSafeDumper, sort_keys=True).encode()


def test_a_piece_is_made_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    item = SERVED.item
    monkeypatch.setattr(SERVED, "item", lambda found: seen.append(found.name) or item(found))
    pieces = lists.pieces(Former(SERVED, Form(), ""), listing(20))
    next(pieces)
    assert 0 < len(seen) < 5
