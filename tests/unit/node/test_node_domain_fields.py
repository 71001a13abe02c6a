"""Every field that an instance may have is acted upon, refused, or documented as without effect: none is forgotten."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ingot.api import registry
from ingot.api.machinery.crd import crd_of
from ingot.node.domain.support import NOT_SUPPORTED

ROOT = Path(__file__).parents[3]
# The leaves of the spec that a machine follows: reviewed when one is added.
ACTED_UPON = (Path(__file__).parent / "acted_upon.txt").read_text().split()
# Those that are refused when the machine is made, or wait with a condition, by a rule of their own.
REFUSED = (
    "domain.cpu.maxSockets",
    "domain.devices.disks[].blockSize.custom.discardGranularity",
    "domain.devices.interfaces[].binding",
    "domain.devices.interfaces[].bridge",
    "domain.devices.interfaces[].macvtap",
    "domain.devices.interfaces[].sriov",
    "domain.devices.tpm",
    "domain.memory.maxGuest",
    "volumes[].container",
    "volumes[].containerDisk",
    "volumes[].downwardMetrics",
    "volumes[].memoryDump",
)
# Who acts: those that read the spec on its way to the guest. A field that none of them names is not followed.
READERS = ("node", "disks", "control", "api/kubevirt/admission.py", "api/kubevirt/sizes.py", "api/kubevirt/traits.py")


@cache
def leaves() -> list[str]:
    info = registry.find("kubevirt.io", "VirtualMachineInstance")
    assert info is not None
    schema = crd_of(info)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return list(_leaves(schema["properties"]["spec"], ""))


def _leaves(schema: dict[str, Any], path: str) -> Iterator[str]:
    if schema.get("type") == "array":
        yield from _leaves(schema["items"], f"{path}[]")
    elif "properties" not in schema:
        yield path
    for key, below in schema.get("properties", {}).items():
        yield from _leaves(below, f"{path}.{key}" if path else key)


def documented() -> list[str]:
    """The fields of the table of those without effect, without `spec.` before them."""
    text = (ROOT / "docs" / "machines.md").read_text()
    table = text.partition("## Fields without effect")[2].partition("\n## ")[0]
    return [
        field.removeprefix("spec.")
        for row in table.splitlines()
        if row.startswith("| `")
        for field in re.findall(r"`(spec\.[^`]+)`", row.split("|")[1])
    ]


def below(leaf: str, fields: list[str] | tuple[str, ...]) -> bool:
    return any(leaf == field or leaf.startswith((f"{field}.", f"{field}[")) for field in fields)


def test_no_field_is_forgotten() -> None:
    known = [*NOT_SUPPORTED, *REFUSED, *documented(), *ACTED_UPON]
    assert [leaf for leaf in leaves() if not below(leaf, known)] == []


def test_no_field_is_said_to_be_both_followed_and_not() -> None:
    refused = [*NOT_SUPPORTED, *REFUSED, *documented()]
    assert [leaf for leaf in ACTED_UPON if below(leaf, refused)] == []


@pytest.mark.parametrize("fields", [ACTED_UPON, list(NOT_SUPPORTED), list(REFUSED)])
def test_what_is_listed_is_there(fields: list[str]) -> None:
    assert [field for field in fields if not any(below(leaf, [field]) for leaf in leaves())] == []


def test_what_is_followed_is_named_where_it_is_followed() -> None:
    texts = []
    for place in READERS:
        path = ROOT / "src" / "ingot" / place
        texts += [each.read_text() for each in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    words = set(re.findall(r"[\"'](\w+)[\"']", "\n".join(texts)))
    # Those of cloud-init are made of a name and a suffix.
    words |= {f"{name}Base64" for name in ("userData", "networkData")}
    assert [leaf for leaf in ACTED_UPON if leaf.removesuffix("[]").rpartition(".")[2] not in words] == []
