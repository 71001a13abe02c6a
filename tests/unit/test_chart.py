"""The Helm chart as far as it can be judged without Helm; tests/control renders and installs it (G7)."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

CHART = Path(__file__).parents[2] / "deploy" / "charts" / "vm"
TEMPLATES = [*sorted(CHART.glob("templates/*.yaml")), CHART / "templates" / "_helpers.tpl"]
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
# What follows a key on its line: a text, JSON, or the lines of a map below it.
PRINTED = re.compile(r"^\s*[-\w./ ]+: \{\{-? *(.*?) *-?\}\}$", re.MULTILINE)
SAFE = re.compile(r"^(quote|toJson) |\| *(quote|toJson|nindent \d+)$")


def refused(**changes):
    """What the schema says of the values with these in their place; "" for nothing."""
    faults = jsonschema_rs.validator_for(SCHEMA).iter_errors({**VALUES, **changes})
    return "; ".join(fault.message for fault in faults)


def test_the_schema_is_one_and_takes_the_values_that_the_chart_comes_with():
    jsonschema_rs.meta.validate(SCHEMA)
    assert refused() == ""
    assert VALUES.keys() == SCHEMA["properties"].keys() - {"global"}
    for name, value in VALUES.items():
        if properties := SCHEMA["properties"][name].get("properties"):
            assert value.keys() == properties.keys()


@pytest.mark.parametrize(
    "changes",
    [
        {"memory": "lots"},
        {"memory": 2},
        {"source": {"kind": "Disk", "name": "x"}},
        {"source": {"kind": "DataSource"}},
        {"sourse": {}},
        {"name": "Not-a-name"},
        {"runStrategy": True},
        {"cpu": {"cores": 0}},
        {"labels": {"a": 1}},
    ],
)
def test_values_that_make_no_machine_are_refused(changes):
    assert refused(**changes)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_name_becomes_a_number_or_a_boolean(path):
    """`helm install 2024` and one of the name "true" make machines of these names."""
    printed = PRINTED.findall(path.read_text())
    assert printed
    assert [each for each in printed if not SAFE.search(each)] == []
