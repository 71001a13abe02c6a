"""The files that are made from the types."""

from pathlib import Path

import yaml

from ingot.api import registry
from ingot.api.machinery import generate

ROOT = Path(__file__).parents[3]


def test_the_generated_files_are_fresh():
    stale = generate.stale(ROOT)
    assert stale == [], "run `python -m ingot.api.machinery.generate`"


def test_writing_makes_them_fresh(tmp_path):
    assert "docs/reference.md" in generate.stale(tmp_path)
    generate.write(tmp_path)
    assert generate.stale(tmp_path) == []


def test_what_was_changed_or_left_over_is_stale(tmp_path):
    generate.write(tmp_path)
    crds = sorted((tmp_path / "deploy/crds").iterdir())
    crds[0].write_text("kind: Other\n")
    left = tmp_path / "deploy/crds/gone.test.local.yaml"
    left.write_text("")
    assert generate.stale(tmp_path) == sorted([str(crds[0].relative_to(tmp_path)), "deploy/crds/gone.test.local.yaml"])
    generate.write(tmp_path)
    assert generate.stale(tmp_path) == []
    assert not left.exists()


def test_the_yaml_says_the_same_as_the_types():
    for crd in registry.crds():
        text = generate.files()[f"deploy/crds/{crd['metadata']['name']}.yaml"]
        assert yaml.load(text, yaml.CSafeLoader) == crd
        assert "&id" not in text


def test_the_page_tells_every_kind_and_links_to_what_is_there():
    text = generate.files()["docs/reference.md"]
    headings = {_slug(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
    links = {link.split(")")[0] for link in text.split("](#")[1:]}
    assert links <= headings
    for info in registry.kinds():
        assert f"## {info.kind} of {info.group}" in text
    assert "| `uri` | string | The endpoint: nbd://host[:port]/export" in text


def _slug(title):
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each in "-_")
