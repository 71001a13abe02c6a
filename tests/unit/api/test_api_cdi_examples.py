from pathlib import Path

import pytest
import yaml
from judge_cdi import stored

EXAMPLES = Path(__file__).parents[3] / "examples"
GROUP = "cdi.kubevirt.io/"


def objects():
    for path in sorted(EXAMPLES.glob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            if obj and obj["apiVersion"].startswith(GROUP):
                yield pytest.param(obj, id=f"{path.stem}-{obj['kind']}-{obj['metadata']['name']}")


@pytest.mark.parametrize("obj", list(objects()))
def test_examples_are_accepted_and_in_the_stored_shape(obj):
    assert stored(obj) == obj


def test_there_is_an_example_of_every_kind():
    assert {each.values[0]["kind"] for each in objects()} == {"DataVolume", "DataSource", "DataImportCron"}
