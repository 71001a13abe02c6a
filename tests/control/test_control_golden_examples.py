"""Examples about golden images, ours and the seed's, give the crons that they say (G5, G6, G11)."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from control.golden_world import Golden, at_work
from control.world import World
from eventual import eventually
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_IMPORT_CRONS, HYPERCONVERGEDS, SSPS
from ingot.control.golden.hyperconverged import HyperConvergeds
from ingot.control.golden.ssp import SSPs

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "unit" / "api"))
from seed_examples import examples  # noqa: E402

# The volume of a golden image is another test's.
FILES = {path.stem: path for path in (ROOT / "examples" / "golden").glob("*.yaml") if path.stem != "clone"}
KINDS = {each.kind: each for each in (SSPS, HYPERCONVERGEDS)}
# Example → the crons that come of it, by namespace, with when they look; None is a minute that was chosen.
CRONS: dict[str, dict[str, dict[str, str | None]]] = {
    "ssp": {"golden-images": {"fedora-image-cron": "17 */12 * * *"}},
    "hyperconverged": {
        "golden-images": {
            "appliance": "30 2 * * 1",
            "centos-stream9-image-cron": None,
            "debian12-image-cron": "5 4 * * *",
            "fedora-image-cron": None,
        }
    },
    "disconnected": {"golden-images": {"fedora-image-cron": "0 3 * * *"}},
    "003-8-ssp": {
        "golden-image-namespace": {"fedora-image-cron": "0 */12 * * *", "centos8-image-cron": "0 */12 * * *"},
    },
    "003-9-hyperconverged": {
        "golden-images": {
            "custom-image1": "0 */12 * * *",
            "custom-image2": "1 */12 * * *",
            **dict.fromkeys(
                (f"{name}-image-cron" for name in ("centos-stream9", "debian12", "fedora", "ubuntu")), None
            ),
        }
    },
}


@pytest.fixture
async def golden(bare: World) -> AsyncIterator[Golden]:
    async with at_work(bare, HyperConvergeds, SSPs) as made:
        yield made


def manifest(name: str) -> Object:
    """The SSP or HyperConverged of an example."""
    if name not in FILES:
        return examples()[name]
    return next(each for each in yaml.safe_load_all(FILES[name].read_text()) if each["kind"] in KINDS)


def test_each_of_our_files_is_tried() -> None:
    assert FILES.keys() <= CRONS.keys()


def scheduled(hyperconverged: Object) -> bool:
    return "dataImportSchedule" in hyperconverged.get("status", ())


@pytest.mark.parametrize("name", CRONS)
async def test_an_example(golden: Golden, name: str) -> None:
    for namespace in CRONS[name]:
        await golden.enter(namespace)
    obj = manifest(name)
    obj["metadata"].pop("namespace", None)
    await golden.create(KINDS[obj["kind"]], obj)

    chosen = ""
    if obj["kind"] == "HyperConverged":
        told = await golden.until(HYPERCONVERGEDS, name_of(obj), scheduled)
        chosen = told["status"]["dataImportSchedule"]
    wanted = {
        (namespace, cron): when or chosen for namespace, crons in CRONS[name].items() for cron, when in crons.items()
    }

    async def all_there() -> bool:
        crons = await golden.made(DATA_IMPORT_CRONS)
        return {(namespace_of(each), name_of(each)): each["spec"]["schedule"] for each in crons} == wanted

    await eventually(all_there)
