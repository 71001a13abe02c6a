"""Which volumes are imports of a cron, whatever others write on theirs (G3)."""

from typing import cast

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.golden.imports import Imports
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.manager import Manager

DIGEST = "sha256:" + "0123456789ab" + "c" * 52


def labelled(name: str, digest: str = DIGEST) -> Object:
    notes = {names.DESIRED_DIGEST: digest}
    labels = {names.IMPORT_CRON: "fedora"}
    return {"metadata": {"name": name, "namespace": "golden", "labels": labels, "annotations": notes}, "spec": {}}


@pytest.mark.parametrize("resource", [DATA_VOLUMES, VOLUME_CLAIMS])
@pytest.mark.parametrize(
    ("name", "digest", "counts"),
    [
        ("fedora-0123456789ab", DIGEST, True),
        ("fedora-0123456789ab-fedcba", DIGEST, True),
        ("mine", DIGEST, False),
        ("fedora-0123456789ab-copy-of-mine", DIGEST, False),
        ("fedora-ba9876543210", DIGEST, False),
        ("fedora-", "", False),
    ],
)
def test_a_copy_of_an_import_under_another_name_is_somebodys_own(
    resource: object, name: str, digest: str, counts: bool
) -> None:
    manager = Manager(cast("Client", None))
    imports = Imports(manager)
    cache = imports.volumes.cache if resource == DATA_VOLUMES else imports.claims.cache
    cache.put(Key("golden", name), labelled(name, digest))
    assert [each.name for each in imports.of(Key("golden", "fedora"))] == [name] * counts
