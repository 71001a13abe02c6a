"""Manifests and the places that they come from."""

import io
from pathlib import Path

import pytest

from ingot.cli.manifest import Manifest, ManifestError, Place, parse, read

ONE = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"


def objects(content: bytes) -> list[Manifest]:
    found = list(parse(content, "f.yaml"))
    assert all(isinstance(each, Manifest) for each in found), found
    return [each for each in found if isinstance(each, Manifest)]


def problem(content: bytes) -> ManifestError:
    (error,) = (each for each in parse(content, "f.yaml") if isinstance(each, ManifestError))
    return error


def test_every_document_is_an_object_with_its_place() -> None:
    found = objects(ONE + b"---\n---\n# a comment\n" + ONE.replace(b"one", b"two"))
    assert [each.obj["metadata"]["name"] for each in found] == ["one", "two"]
    assert [each.place for each in found] == [Place("f.yaml", 1, 1), Place("f.yaml", 3, 8)]
    assert str(found[1].place) == "f.yaml, document 3, line 8"


def test_lists_give_their_items() -> None:
    text = b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: one\n"
    (found,) = objects(text)
    assert found.obj["metadata"]["name"] == "one"
    assert found.line_of("metadata.name") == 7


def test_json_may_be_indented_by_tabs() -> None:
    (found,) = objects(b'{\n\t"apiVersion": "v1", "kind": "A",\n\t"metadata": {"name": "x"}}')
    assert found.obj["kind"] == "A"
    assert found.line_of("metadata") == 0


def test_yaml_in_braces_is_no_bad_json() -> None:
    (found,) = objects(b"{apiVersion: v1, kind: A, metadata: {name: x}}")
    assert found.obj["metadata"] == {"name": "x"}


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec", 5),
        ("spec.disks", 6),
        ("spec.disks[0].name", 7),
        ("spec.disks[1]", 9),
        ("spec.disks[1].size.more", 10),
        ("spec.disks[7].x", 6),
        ("status", 1),
    ],
)
def test_a_field_has_the_line_of_its_key_or_of_what_is_around_it(field: str, line: int) -> None:
    text = ONE + b"spec:\n  disks:\n  - name: a\n    size: 1\n  - name: b\n    size:\n      x: 2\n"
    (found,) = objects(text.replace(b"  name: one\n", b"  name: one\n"))
    assert found.line_of(field) == line


@pytest.mark.parametrize(
    ("content", "said", "line"),
    [
        (b"a: b\n\tc: d\n", "never by tabs", 2),
        (b"a: [1\n", "is not YAML", 2),
        (b"- 1\n", "is not an object", 1),
        (b"kind: A\nmetadata: {name: x}\n", "apiVersion is not set", 1),
        (b"apiVersion: v1\nmetadata: {name: x}\n", "kind is not set", 1),
        (b"apiVersion: v1\nkind: A\n", "metadata.name of this A is not set", 1),
        (b"apiVersion: v1\nkind: A\nmetadata: {name: 7}\n", "put it in quotes", 1),
        (b"apiVersion: v1\nkind: A\nmetadata: {name: x, name: y}\n", '"name" is set twice', 3),
        (b"a: \xff\n", "is not UTF-8", 0),
    ],
)
def test_what_is_no_object_is_told_with_its_line(content: bytes, said: str, line: int) -> None:
    error = problem(content)
    assert said in error.problem
    assert (error.place.file, error.place.line) == ("f.yaml", line)


def test_a_bad_document_does_not_hide_those_before_it() -> None:
    first, second = parse(ONE + b"---\na: [\n", "f.yaml")
    assert isinstance(first, Manifest)
    assert isinstance(second, ManifestError)
    assert second.place.document == 2


def test_directories_are_read_with_all_below_them(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "b.yml").write_bytes(ONE)
    (tmp_path / "deep" / "er" / "a.yaml").write_bytes(ONE)
    (tmp_path / "notes.txt").write_text("no manifest")
    assert [Path(each.place.file).name for each in read([str(tmp_path)])] == ["b.yml", "a.yaml"]


def test_a_missing_file_and_an_empty_directory_do_not_hide_others(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.yaml").write_bytes(ONE)
    missing, empty, found = read([str(tmp_path / "nope"), str(tmp_path / "empty"), str(tmp_path / "a.yaml")])
    assert "No such file" in str(missing)
    assert "no .yaml, .yml, .json file" in str(empty)
    assert isinstance(found, Manifest)


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(ONE)))
    (found,) = read(["-"])
    assert found.place.file == "standard input"
