"""What a node holds for an instance, across the agent's lives."""

import json
from pathlib import Path
from typing import Any

from ingot.kube.cache import Key
from ingot.node.record import Records

SPEC: dict[str, Any] = {"spec": {"domain": {"devices": {}}}}
VMI: dict[str, Any] = {"metadata": {"namespace": "lab", "name": "web", "uid": "u1"}, **SPEC}


def test_a_record_is_there_for_the_next_agent(tmp_path: Path) -> None:
    record = Records(tmp_path).make(VMI, "p1")
    record.started, record.stop_asked, record.volumes = True, 12.5, [{"name": "root"}]
    record.save()
    found = Records(tmp_path).get("u1")
    assert found == record
    assert found is not record


def test_records_are_found_by_name_and_told_apart_by_uid(tmp_path: Path) -> None:
    records = Records(tmp_path)
    records.make(VMI, "p1")
    records.make({"metadata": {**VMI["metadata"], "uid": "u2"}, **SPEC}, "p2")
    assert sorted(record.uid for record in records.of(Key("lab", "web"))) == ["u1", "u2"]
    assert records.of(Key("lab", "other")) == []


def test_a_removed_record_leaves_nothing(tmp_path: Path) -> None:
    records = Records(tmp_path)
    record = records.make(VMI, "p1")
    (record.directory / "disk").write_bytes(b"x")
    records.remove(record)
    assert (records.get("u1"), list(tmp_path.iterdir())) == (None, [])


def test_what_another_version_wrote_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    record = Records(tmp_path).make(VMI, "p1")
    note = json.loads((record.directory / "record.json").read_bytes())
    (record.directory / "record.json").write_text(json.dumps({**note, "started": True, "colour": "blue"}))
    found = Records(tmp_path).get("u1")
    assert found is not None
    assert found.started


def test_a_damaged_note_costs_nobody_his_disks(tmp_path: Path) -> None:
    record = Records(tmp_path).make(VMI, "p1")
    (record.directory / "disk").write_bytes(b"data")
    (record.directory / "record.json").write_text("{")
    assert Records(tmp_path).get("u1") is None
    assert (record.directory / "disk").read_bytes() == b"data"


def test_a_directory_without_a_note_is_removed(tmp_path: Path) -> None:
    (tmp_path / "u9").mkdir()
    (tmp_path / "u9" / "half").write_bytes(b"")
    assert Records(tmp_path).all() == []
    assert list(tmp_path.iterdir()) == []


def test_others_may_pass_but_not_look(tmp_path: Path) -> None:
    record = Records(tmp_path).make(VMI, "p1")
    assert record.directory.stat().st_mode & 0o777 == 0o711
    assert (record.directory / "record.json").stat().st_mode & 0o777 == 0o600
