"""Domains without a record: which are this agent's own and have to end, and which are left alone."""

from pathlib import Path
from typing import Any

import pytest

from ingot.kube.cache import Key
from ingot.node.domain.document import Host, domain_xml
from ingot.node.record import Records
from ingot.node.strays import Strays

VMI: dict[str, Any] = {
    "metadata": {"namespace": "lab", "name": "web", "uid": "u1"},
    "spec": {"domain": {"devices": {}, "memory": {"guest": "32Mi"}}},
}
FOREIGN = "<domain><name>lab_web</name><devices/></domain>"


class Parts:
    """libvirt with one domain, the API, and the instances of the node."""

    def __init__(self, xml: str) -> None:
        self.xml = xml
        self.ended = False
        self.known: set[str] = set()
        self.live = False
        self.looked_at: list[Key] = []

    async def unlike(self, names: set[str]) -> dict[str, str]:
        return {} if "lab_web" in names else {"lab_web": self.xml}

    async def gone(self, _name: str, _uid: str) -> bool:
        return self.ended

    def subscribe(self, _told: Any) -> None: ...

    async def found(self, _key: Key, _uid: str) -> bool:
        return self.live

    def uids(self) -> set[str]:
        return self.known

    def look_at(self, key: Key) -> None:
        self.looked_at.append(key)


def made_in(directory: Path) -> str:
    return domain_xml(VMI, Host("tcg", "max"), [], directory / "u1" / "console")


async def sweep(records: Records, parts: Parts) -> list[str]:
    """The uids of the instances that have a record afterwards and are looked at."""
    await Strays(parts, records, parts, parts).sweep()  # type: ignore[arg-type]
    return [record.uid for record in records.all() if record.key in parts.looked_at]


async def test_a_domain_of_ours_that_nobody_knows_gets_a_record_to_be_ended_by(tmp_path: Path) -> None:
    records = Records(tmp_path)
    assert await sweep(records, Parts(made_in(tmp_path))) == ["u1"]
    record = Records(tmp_path).get("u1")
    assert record is not None
    assert (record.key, record.domain, record.started) == (Key("lab", "web"), "lab_web", True)


@pytest.mark.parametrize("place", ["elsewhere", "machines/.."])
async def test_what_another_agent_made_is_left_alone(tmp_path: Path, place: str) -> None:
    assert await sweep(Records(tmp_path / "machines"), Parts(made_in(tmp_path / place))) == []


async def test_what_is_not_of_an_instance_is_left_alone(tmp_path: Path) -> None:
    assert await sweep(Records(tmp_path), Parts(FOREIGN)) == []


async def test_what_has_an_instance_is_left_to_it(tmp_path: Path) -> None:
    cached, live = Parts(made_in(tmp_path)), Parts(made_in(tmp_path))
    cached.known, live.live = {"u1"}, True
    assert [await sweep(Records(tmp_path), parts) for parts in (cached, live)] == [[], []]


async def test_what_has_a_record_or_has_just_ended_is_left_alone(tmp_path: Path) -> None:
    ended = Parts(made_in(tmp_path))
    ended.ended = True
    assert await sweep(Records(tmp_path), ended) == []
    records = Records(tmp_path)
    records.make(VMI, "p1")
    assert await sweep(records, Parts(made_in(tmp_path))) == []


async def test_a_stray_whose_name_a_new_instance_has_is_found(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.make({**VMI, "metadata": {**VMI["metadata"], "uid": "u2"}}, "p2")
    assert sorted(await sweep(records, Parts(made_in(tmp_path)))) == ["u1", "u2"]
