"""Figures for Prometheus, out of caches that a test has filled (G9)."""

import asyncio
import base64
import json
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
import trustme
from prometheus_client.core import Metric

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import (
    CONFIG_MAPS,
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    PODS,
    SECRETS,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
)
from ingot.control.monitoring import expiry
from ingot.control.monitoring.certificates import certificate_families, files_of
from ingot.control.monitoring.classes import ClassFigures
from ingot.control.monitoring.crons import CronFigures
from ingot.control.monitoring.datasources import DataSourceFigures
from ingot.control.monitoring.figures import Figures
from ingot.control.monitoring.storage import Pool, StorageFigures
from ingot.control.monitoring.volumes import MOST_REASONS, MOST_TRANSFERS, VolumeFigures
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock, settle
from ingot.kube.controller import Observation, Outcome
from ingot.kube.election import Election
from ingot.kube.manager import Manager

# A moment, and how crons write it.
MOMENT, WRITTEN = 1_700_000_000.0, "2023-11-14T22:13:20Z"
# How a certificate says that it is of version 5, which there is not.
FIFTH = b"\xa0\x03\x02\x01\x04"


class Caches:
    """A manager that never runs, whose caches hold what a test puts there."""

    def __init__(self, election: Election | None = None) -> None:
        self.manager = Manager(cast(Client, None), election=election)

    def put(self, resource: Any, obj: Object, **selection: str) -> None:
        # As the informer does it, handlers included.
        self.manager.informer(resource, **selection)._put(obj)  # type: ignore[arg-type]


def cron(name: str, reason: str = "UpToDate", status: str = "True", **annotations: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": "os", "annotations": annotations, "resourceVersion": "1"},
        "spec": {"template": {"spec": {"source": {"registry": {"url": "docker://example.org/disk"}}}}},
        "status": {"conditions": [{"type": "UpToDate", "status": status, "reason": reason}]},
    }


def volume(name: str, phase: str = "Succeeded", reason: str = "", version: int = 1, **status: Any) -> Object:
    conditions = [{"type": "Running", "status": "False", "reason": reason}] if reason else []
    return {
        "metadata": {"name": name, "namespace": "vms", "uid": f"uid-{name}", "resourceVersion": str(version)},
        "spec": {"source": {"blank": {}}, "storage": {}},
        "status": {"phase": phase, "conditions": conditions, **status},
    }


def read(families: Any) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by the metric's name and its labels' values."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in cast(list[Metric], list(families)):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def test_crons_tell_whether_they_are_outdated_and_why() -> None:
    caches = Caches()
    figures = CronFigures(caches.manager)
    caches.put(DATA_IMPORT_CRONS, cron("good"))
    caches.put(DATA_IMPORT_CRONS, cron("old", "Outdated", "False"))
    pin = {names.PINNED: f"sha256:{'a' * 64}"}
    caches.put(DATA_IMPORT_CRONS, cron("kept", "Pinned", "False", **pin))
    caches.put(DATA_IMPORT_CRONS, cron("lost", "Pinned", "False", **pin))
    caches.put(DATA_IMPORT_CRONS, cron("silent", "Unreachable", "False", **pin))
    caches.put(DATA_IMPORT_CRONS, cron("follows", "Unreachable", "False"))
    for name in ("kept", "lost", "silent", "follows"):
        version = volume(f"{name}-{'a' * 12}")
        notes = {names.DESIRED_DIGEST: pin[names.PINNED]}
        version["metadata"] |= {"namespace": "os", "labels": {names.IMPORT_CRON: name}, "annotations": notes}
        caches.put(DATA_VOLUMES, version)
    bound = {"spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
    for name in ("kept", "silent", "follows"):
        claim = {"name": f"{name}-{'a' * 12}", "namespace": "os", "resourceVersion": "1"}
        caches.put(VOLUME_CLAIMS, {"metadata": claim, **bound})
    caches.put(DATA_IMPORT_CRONS, cron("taken", "Unmanaged", "False"))
    caches.put(DATA_IMPORT_CRONS, cron("odd", "written-by-anybody-4711", "False"))
    caches.put(DATA_IMPORT_CRONS, {**cron("new"), "status": {}})
    told = read(figures.families())
    outdated = {key[1]: value for key, value in told["kubevirt_cdi_dataimportcron_outdated"].items()}
    assert outdated == {
        "good": 0,
        "old": 1,
        "kept": 0,
        "lost": 1,
        "silent": 0,
        "follows": 1,
        "taken": 0,
        "odd": 1,
        "new": 0,
    }
    assert told["ingot_dataimportcron_up_to_date"] == {
        ("os", "silent", "Unreachable"): 1,
        ("os", "follows", "Unreachable"): 0,
        ("os", "good", "UpToDate"): 1,
        ("os", "old", "Outdated"): 0,
        ("os", "kept", "Pinned"): 1,
        ("os", "lost", "Pinned"): 0,
        ("os", "taken", "Unmanaged"): 1,
        ("os", "odd", "Other"): 0,
    }


def link(name: str, claim: str, ready: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": "os", "resourceVersion": "1"},
        "spec": {"source": {"pvc": {"namespace": "os", "name": claim}} if claim else {}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]} if ready else {},
    }


def test_datasources_tell_whether_they_can_be_cloned_and_whether_they_ever_could() -> None:
    caches = Caches()
    figures = DataSourceFigures(caches.manager)
    for found in (
        link("good", "good-0123456789ab", "True"),
        link("lost", "lost-0123456789ab-cdef01", "False"),
        link("dangling", "dangling", "False"),
        link("empty", "", "False"),
        link("new", "new", ""),
        link("disk", "disk-202401011234", "False"),
    ):
        caches.put(DATA_SOURCES, found)
    for name, notes in (("good-0123456789ab", {names.DESIRED_DIGEST: "sha256:01"}), ("disk-202401011234", {})):
        caches.put(VOLUME_CLAIMS, {"metadata": {"name": name, "namespace": "os", "annotations": notes}})
    assert read(figures.families())["ingot_datasource_ready"] == {
        ("os", "good", "version"): 1,
        ("os", "lost", "version"): 0,
        ("os", "dangling", "other"): 0,
        ("os", "empty", "other"): 0,
        ("os", "disk", "other"): 0,
    }


def test_crons_tell_when_they_looked_and_what_is_no_time_is_left_out() -> None:
    caches = Caches()
    figures = CronFigures(caches.manager)
    annotations = {names.LAST_CRON_TIME: WRITTEN, names.NEXT_CRON_TIME: "soon", names.UNREACHABLE_SINCE: WRITTEN}
    caches.put(DATA_IMPORT_CRONS, cron("one", **annotations))
    told = read(figures.families())
    assert told["ingot_dataimportcron_last_poll_timestamp_seconds"] == {("os", "one"): MOMENT}
    assert told["ingot_dataimportcron_unreachable_since_timestamp_seconds"] == {("os", "one"): MOMENT}
    assert "ingot_dataimportcron_next_poll_timestamp_seconds" not in told


@pytest.mark.parametrize("reason", ["Conflict", "SourceNotDelivered"])
def test_a_source_that_nobody_may_ask_is_neither_late_nor_silent(reason: str) -> None:
    caches = Caches()
    figures = CronFigures(caches.manager)
    annotations = {names.LAST_CRON_TIME: WRITTEN, names.NEXT_CRON_TIME: WRITTEN, names.UNREACHABLE_SINCE: WRITTEN}
    caches.put(DATA_IMPORT_CRONS, cron("one", reason, "False", **annotations))
    told = read(figures.families())
    assert told["ingot_dataimportcron_last_poll_timestamp_seconds"] == {("os", "one"): MOMENT}
    assert "ingot_dataimportcron_next_poll_timestamp_seconds" not in told
    assert "ingot_dataimportcron_unreachable_since_timestamp_seconds" not in told


def test_an_import_without_a_storage_class_makes_its_cron_pending() -> None:
    caches = Caches()
    figures, of_volumes = CronFigures(caches.manager), VolumeFigures(caches.manager)
    caches.put(DATA_IMPORT_CRONS, cron("one", "ImportProgressing", "False"))
    waiting = volume(f"one-{'a' * 12}", "Pending")
    notes = {names.DESIRED_DIGEST: f"sha256:{'a' * 64}"}
    waiting["metadata"] |= {"namespace": "os", "labels": {names.IMPORT_CRON: "one"}, "annotations": notes}
    caches.put(DATA_VOLUMES, waiting)
    assert read(figures.families())["kubevirt_cdi_dataimportcron_outdated"] == {("os", "one", "true"): 1}
    assert read(of_volumes.families())["kubevirt_cdi_datavolume_pending"] == {(): 1}
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    caches.put(STORAGE_CLASSES, {"metadata": {"name": "fast", "annotations": annotations}, "provisioner": "csi"})
    assert read(figures.families())["kubevirt_cdi_dataimportcron_outdated"] == {("os", "one", "false"): 1}
    assert read(of_volumes.families())["kubevirt_cdi_datavolume_pending"] == {(): 0}
    info = read(ClassFigures(caches.manager).families())["kubevirt_cdi_storageprofile_info"]
    assert info == {("fast", "csi", "true", "true", "false", "unknown", "false"): 1}


def test_volumes_are_counted_by_phase_and_those_that_are_filled_tell_their_bytes() -> None:
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    caches.put(DATA_VOLUMES, volume("done"))
    caches.put(DATA_VOLUMES, volume("half", "ImportInProgress", transfer={"done": 50, "total": 200}))
    caches.put(DATA_VOLUMES, volume("begun", "CloneScheduled"))
    caches.put(DATA_VOLUMES, volume("waits", "ImportScheduled", "Queued"))
    caches.put(DATA_VOLUMES, volume("sent", "UploadReady", transfer={"done": 7}))
    told = read(figures.families())
    assert told["ingot_datavolumes"][("Succeeded",)] == 1
    assert told["ingot_datavolumes"][("ImportScheduled",)] == 1
    assert told["ingot_datavolume_done_bytes"] == {
        ("vms", "half", "import"): 50,
        ("vms", "begun", "clone"): 0,
        ("vms", "sent", "upload"): 7,
    }
    assert told["ingot_datavolume_total_bytes"] == {("vms", "half", "import"): 200}
    assert told["kubevirt_cdi_import_progress_total"] == {("uid-half",): 25}


def test_an_import_that_cannot_begin_tells_that_it_has_no_byte() -> None:
    """So that somebody is told; where a default StorageClass is all that it lacks, another alert tells that."""
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    named = volume("named", "Pending")
    named["spec"]["storage"] = {"storageClassName": "nosuch"}
    caches.put(DATA_VOLUMES, named)
    caches.put(DATA_VOLUMES, volume("unnamed", "Pending"))
    clone = volume("clone", "Pending")
    clone["spec"] = {"source": {"pvc": {"namespace": "vms", "name": "to-come"}}, "storage": {"storageClassName": "a"}}
    caches.put(DATA_VOLUMES, clone)
    told = read(figures.families())
    assert told["ingot_datavolume_done_bytes"] == {("vms", "named", "import"): 0}
    assert told["kubevirt_cdi_datavolume_pending"] == {(): 1}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"sourceRef": {"kind": "DataSource", "name": "fedora"}}, "DataSourceNotReady"),
        ({"source": {"pvc": {"namespace": "vms", "name": "to-come"}}}, "CloneWithoutSource"),
    ],
)
def test_a_clone_that_has_nothing_to_be_made_from_tells_that_it_has_no_byte(spec: Object, reason: str) -> None:
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    clone = volume("clone", "Pending")
    clone["spec"] = {**spec, "storage": {"storageClassName": "a"}}
    clone["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": reason}]
    caches.put(DATA_VOLUMES, clone)
    assert read(figures.families())["ingot_datavolume_done_bytes"] == {("vms", "clone", "clone"): 0}


def test_nobody_makes_the_figures_grow_without_bounds() -> None:
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    for number in range(MOST_TRANSFERS + 1):
        name = f"v{number}"
        caches.put(DATA_VOLUMES, volume(name, "ImportInProgress"))
        caches.put(DATA_VOLUMES, volume(name, "ImportInProgress", f"Reason{number}", 2, restartCount=1))
    told = read(figures.families())
    assert len(told["ingot_datavolume_done_bytes"]) == MOST_TRANSFERS
    failures = told["ingot_datavolume_failures_total"]
    assert len(failures) == MOST_REASONS + 1
    assert sum(failures.values()) == MOST_TRANSFERS + 1


def test_a_try_that_failed_counts_once() -> None:
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    steps: list[dict[str, Any]] = [
        {"phase": "ImportInProgress"},
        {"phase": "ImportInProgress", "reason": "Unreachable", "restartCount": 1},
        {"phase": "ImportInProgress", "reason": "Running", "restartCount": 1},
        {"phase": "Failed", "reason": "BadImage", "restartCount": 2},
        {"phase": "Failed", "reason": "BadImage", "restartCount": 2},
    ]
    for version, step in enumerate(steps):
        caches.put(DATA_VOLUMES, volume("v", version=version, **step))
    assert read(figures.families())["ingot_datavolume_failures_total"] == {("Unreachable",): 1, ("BadImage",): 1}


def test_a_try_that_failed_while_another_process_led_is_not_counted_here() -> None:
    caches = Caches(Election(cast(Client, None), "ingot", "ingot"))
    figures = VolumeFigures(caches.manager)
    caches.put(DATA_VOLUMES, volume("v", "ImportInProgress"))
    caches.put(DATA_VOLUMES, volume("v", "Failed", "BadImage", 2))
    assert "ingot_datavolume_failures_total" not in read(figures.families())


def test_pods_that_start_again_and_again_are_counted_by_what_they_do() -> None:
    caches = Caches()
    figures = VolumeFigures(caches.manager)
    for name, restarts in (("importer-prime-a", 4), ("importer-prime-b", 3), ("cdi-upload-prime-c", 9)):
        status = {"phase": "Running", "containerStatuses": [{"restartCount": restarts}]}
        pod = {"metadata": {"name": name, "namespace": "vms"}, "spec": {}, "status": status}
        caches.put(PODS, pod, label_selector=names.COMPONENT)
    told = read(figures.families())
    assert [told[f"kubevirt_cdi_{each}_pods_high_restart"][()] for each in ("import", "upload", "clone")] == [1, 1, 0]


def test_room_of_one_machine_is_that_of_its_directory(tmp_path: Path) -> None:
    caches = Caches()
    figures = StorageFigures(caches.manager, Pool(tmp_path, "here"))
    caches.put(STORAGE_CLASSES, {"metadata": {"name": "local"}, "provisioner": names.LOCAL_PROVISIONER})
    caches.put(STORAGE_CLASSES, {"metadata": {"name": "other"}, "provisioner": "csi"})
    told = read(figures.families())
    assert told["ingot_storage_free_bytes"].keys() == {("local", "here")}
    assert (
        0 < told["ingot_storage_free_bytes"]["local", "here"] <= told["ingot_storage_capacity_bytes"]["local", "here"]
    )


class Driver:
    """In place of a client of a cluster on which drivers tell what room they have."""

    async def list(self, _: Any) -> Object:
        topology = {"matchLabels": {"topology.example/zone": "a", "topology.example/rack": "7"}}
        told = {"storageClassName": "fast", "capacity": "1Gi", "nodeTopology": topology}
        return {"items": [told, {"storageClassName": "silent"}, {"storageClassName": "odd", "capacity": "much"}]}


async def test_room_of_a_cluster_is_what_its_drivers_tell() -> None:
    caches = Caches()
    caches.manager.client = cast(Client, Driver())
    figures = StorageFigures(caches.manager, clock=ManualClock())
    task = asyncio.create_task(figures.follow())
    await settle()
    assert read(figures.families()) == {"ingot_storage_free_bytes": {("fast", "7,a"): 1 << 30}}
    task.cancel()


def token(moment: float) -> str:
    parts = ({"alg": "none"}, {"exp": moment})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + ".x"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"accessKeyId": encoded("me"), "secretKey": encoded(token(MOMENT))}, MOMENT),
        ({"secretKey": encoded("sesame")}, None),
        ({"secretKey": "no base64"}, None),
        ({"secretKey": "é", "other": encoded(token(7))}, 7),
        ({".dockerconfigjson": encoded(json.dumps({"auths": {"a": {"auth": encoded(f"u:{token(5)}")}}}))}, 5),
        ({".dockerconfigjson": encoded(json.dumps({"auths": {"a": {"identitytoken": token(6)}}, "x": 1}))}, 6),
        ({".dockerconfigjson": encoded('{"auths": 3}')}, None),
        ({".dockerconfigjson": encoded(json.dumps({"auths": {"a": {"auth": "é"}, "b": {"password": token(4)}}}))}, 4),
        ({"a": encoded("a.b.c"), "b": encoded(token(9)), "c": encoded(token(8))}, 8),
    ],
)
def test_a_secret_expires_with_the_first_token_in_it(data: dict[str, str], expected: float | None) -> None:
    assert expiry.of_object(SECRETS, {"data": data}, MOMENT) == expected


def test_certificates_expire_with_the_first_of_them(tmp_path: Path) -> None:
    soon, later = (datetime(2030, 1, day, tzinfo=UTC) for day in (1, 2))
    authority = trustme.CA()
    first = authority.issue_cert("a.example", not_after=soon).cert_chain_pems[0].bytes()
    second = authority.issue_cert("b.example", not_after=later).cert_chain_pems[0].bytes()
    text = (second + first).decode()
    bundle = {"data": {"ca.pem": text, "README": "-----BEGIN CERTIFICATE-----"}}
    assert expiry.of_object(CONFIG_MAPS, bundle, MOMENT) == soon.timestamp()
    # Bundles of authorities have some that have expired, and are as good as ever.
    assert expiry.of_object(CONFIG_MAPS, bundle, soon.timestamp()) == later.timestamp()
    assert expiry.of_object(CONFIG_MAPS, bundle, later.timestamp()) == later.timestamp()
    secret = {"data": {"tls.crt": encoded(text)}}
    assert expiry.of_object(SECRETS, secret, soon.timestamp()) == soon.timestamp()
    (tmp_path / "server.pem").write_bytes(second)
    (tmp_path / "key.pem").write_text("-----BEGIN EC PRIVATE KEY-----")
    told = read(certificate_families(files_of(tmp_path)()))
    assert told["ingot_certificate_expiry_timestamp_seconds"] == {("server",): later.timestamp()}


def test_an_odd_certificate_hides_no_other() -> None:
    issued = trustme.CA().issue_cert("a.example", not_after=datetime(2030, 1, 1, tzinfo=UTC))
    good = issued.cert_chain_pems[0].bytes()
    body = base64.b64encode(ssl.PEM_cert_to_DER_cert(good.decode()).replace(b"\xa0\x03\x02\x01\x02", FIFTH))
    odd = b"-----BEGIN CERTIFICATE-----\n" + body + b"\n-----END CERTIFICATE-----\n"
    torn = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    assert expiry.of_certificates(odd + torn + good) == datetime(2030, 1, 1, tzinfo=UTC).timestamp()
    assert expiry.of_certificates(odd) is None


def test_figures_that_fail_hide_no_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    def broken() -> dict[str, Path]:
        raise RuntimeError("broken")

    monkeypatch.setattr(Manager, "has_synced", True)
    caches = Caches()
    figures = Figures(caches.manager, pool=Pool(tmp_path / "not-there", "here"), certificates=broken)
    caches.put(DATA_IMPORT_CRONS, cron("one"))
    caches.put(STORAGE_CLASSES, {"metadata": {"name": "local"}, "provisioner": names.LOCAL_PROVISIONER})
    told = read(figures.families())
    assert told["ingot_controllers_leading"] == {(): 1}
    assert "kubevirt_cdi_dataimportcron_outdated" in told
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError, FileNotFoundError]


def test_who_does_not_lead_tells_of_itself_alone() -> None:
    caches = Caches(Election(cast(Client, None), "ingot", "ingot"))
    figures = Figures(caches.manager)
    caches.put(DATA_IMPORT_CRONS, cron("one"))
    caches.manager.tally.take(Observation("machine", Key("a", "b"), Outcome.DONE, 0.5, 0))
    told = read(figures.families())
    assert told["ingot_controllers_leading"] == {(): 0}
    assert told["ingot_reconcile_total"] == {("machine", "done"): 1}
    assert told["ingot_reconcile_seconds_total"] == {("machine",): 0.5}
    assert "kubevirt_cdi_dataimportcron_outdated" not in told
