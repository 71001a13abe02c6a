"""DataImportCron: keeps a DataSource pointing at a fresh import of a container image (G3)."""

from typing import Annotated, Any, Literal

import msgspec

from ingot.api.cdi.condition import Conditions
from ingot.api.cdi.cronspec import CronTemplateSpec, cron_faults, normalise
from ingot.api.cdi.sources import ClaimSource
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Rule, Shape, Time, Version, kind
from ingot.api.object import Object
from ingot.api.status import Cause


class DataImportCronSpec(CronTemplateSpec, kw_only=True):
    """Which image to follow, when to look for a new one, and what becomes of the old ones."""

    schedule: Annotated[
        str, Field("When to look, in cron's five fields, in UTC; empty to look only when told to by annotation.")
    ]


class Import(Shape):
    """An import that is under way."""

    volume: Annotated[str, Field("The DataVolume that it fills.")] = msgspec.field(name="DataVolumeName")
    digest: Annotated[str, Field("The digest of the image.")] = msgspec.field(name="Digest")


class DataImportCronStatus(Shape):
    """What was looked for, found and imported. Conditions are UpToDate and Progressing."""

    source_format: Annotated[Opt[Literal["pvc", "snapshot"]], Field("What an import is kept as.")] = UNSET
    current_imports: Annotated[Opt[list[Import]], Field("The imports that are under way.", list_type="atomic")] = UNSET
    last_imported_pvc: Annotated[
        Opt[ClaimSource], Field("The claim that the last import filled; older: its name alone.")
    ] = msgspec.field(default=UNSET, name="lastImportedPVC")
    last_execution_timestamp: Annotated[Opt[Time], Field("When the registry was last asked.")] = UNSET
    last_import_timestamp: Annotated[Opt[Time], Field("When the last import was complete.")] = UNSET
    last_import: Annotated[Opt[str], Field("An older way to write lastImportTimestamp; stored as that.")] = UNSET
    conditions: Opt[Conditions] = UNSET


def _mutate(new: Object, old: Object | None, _operation: str) -> None:
    normalise(new.get("spec"), None if old is None else old.get("spec"))
    status = new.get("status")
    if isinstance(status, dict):
        _normalise_status(status, new.get("metadata"))


def _normalise_status(status: Object, metadata: object) -> None:
    claim = status.get("lastImportedPVC")
    if isinstance(claim, str):
        namespace = metadata.get("namespace", "") if isinstance(metadata, dict) else ""
        status["lastImportedPVC"] = {"namespace": namespace, "name": claim}
    if isinstance(status.get("lastImport"), str):
        status["lastImportTimestamp"] = status.pop("lastImport")


def _validate(new: Object, old: Object | None) -> list[Cause]:
    faults = [] if old is not None and old["spec"] == new["spec"] else cron_faults(new["spec"], "spec")
    return faults + _status_faults(new.get("status", {}))


def _status_faults(status: Object) -> list[Cause]:
    # The schema leaves this field open, for the older form; here it is in the stored one.
    claim = status.get("lastImportedPVC")
    if claim is None or (isinstance(claim, dict) and claim.keys() == {"namespace", "name"}):
        return []
    message = "Invalid value: a claim is expected, as namespace and name"
    return [Cause("status.lastImportedPVC", message, "FieldValueInvalid")]


@kind(
    group="cdi.kubevirt.io",
    plural="dataimportcrons",
    short_names=("dic", "dics"),
    categories=("all",),
    versions=(Version("v1beta1", overrides={"status.lastImportedPVC": Any}),),
    columns=(Column("Format", ".status.sourceFormat", doc="What an import is kept as."),),
    admit_status=True,
    mutate=_mutate,
    validate=_validate,
)
class DataImportCron(Kind, kw_only=True):
    """Follows a container image: each new version is imported, and a DataSource then points to it."""

    RULES = (
        Rule(
            # One that was stored before admission was there to rewrite it may still be rewritten.
            "self.spec == oldSelf.spec || has(oldSelf.spec.source) || has(oldSelf.spec.garbageCollectOutdated)",
            "Cannot update DataImportCron Spec: delete it and create it anew; what it imported can stay",
            ".spec",
        ),
        Rule(
            "size(self.metadata.name) <= 63",
            "a name of at most 63 characters is expected, since labels carry it",
            ".metadata.name",
        ),
    )

    spec: DataImportCronSpec
    status: Opt[DataImportCronStatus] = UNSET
