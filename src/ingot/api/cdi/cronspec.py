"""What a DataImportCron says, wherever it stands: alone, in an SSP or in a HyperConverged (G3)."""

from typing import Annotated, Literal

from ingot.api.cdi.datavolume import DataVolumeSpec, DataVolumeStatus
from ingot.api.cdi.faults import volume_faults
from ingot.api.cdi.schedule import Schedule, ScheduleError
from ingot.api.cdi.sources import DataVolumeSource
from ingot.api.machinery import UNSET, Field, Opt, Rule, Shape
from ingot.api.machinery.meta import TemplateMeta
from ingot.api.machinery.scalar import SUBDOMAIN_PATTERN
from ingot.api.object import Object
from ingot.api.status import Cause

GarbageCollect = Literal["Outdated", "Never"]
RetentionPolicy = Literal["All", "None"]


class VolumeTemplate(Shape, kw_only=True):
    """The DataVolume that is made for each import."""

    api_version: Opt[str] = UNSET
    kind: Opt[str] = UNSET
    metadata: Opt[TemplateMeta] = UNSET
    spec: DataVolumeSpec
    status: Annotated[Opt[DataVolumeStatus], Field("Not used: a template has no status.")] = UNSET


class CronTemplateSpec(Shape, kw_only=True):
    """When to look for a new image, and what to make of it."""

    RULES = (
        Rule("has(self.template) != has(self.source)", "exactly one of template and source is expected"),
        Rule(
            "!(has(self.garbageCollect) && has(self.garbageCollectOutdated))",
            "garbageCollect and garbageCollectOutdated exclude each other",
        ),
        Rule(
            "!has(self.template) || (has(self.template.spec.source) && "
            "(has(self.template.spec.source.registry) || has(self.template.spec.source.http)))",
            "a registry or http source is expected",
            ".template",
        ),
        Rule(
            "!has(self.template) || !(has(self.template.spec.contentType) || "
            "has(self.template.spec.checkpoints) || has(self.template.spec.finalCheckpoint))",
            "contentType, checkpoints and finalCheckpoint have no meaning in an import that recurs",
            ".template",
        ),
        Rule(
            "!has(self.source) || has(self.source.registry) || has(self.source.http)",
            "a registry or http source is expected",
            ".source",
        ),
    )

    template: Opt[VolumeTemplate] = UNSET
    schedule: Annotated[
        Opt[str],
        Field("When to look, in cron's five fields, in UTC; empty to look only when told to by annotation."),
    ] = UNSET
    managed_data_source: Annotated[
        str,
        Field(
            "The DataSource, in the same namespace, that is made or adopted and follows the newest import.",
            pattern=SUBDOMAIN_PATTERN,
            max_length=63,
        ),
    ]
    garbage_collect: Annotated[
        Opt[GarbageCollect],
        Field("Whether imports are deleted when newer ones have replaced them; Outdated if absent."),
    ] = UNSET
    imports_to_keep: Annotated[
        Opt[int], Field("How many imports garbage collection leaves; 3 if absent.", format="int32", minimum=0)
    ] = UNSET
    retention_policy: Annotated[
        Opt[RetentionPolicy],
        Field("Whether imports and DataSource stay when the cron is deleted; All if absent."),
    ] = UNSET
    service_account_name: Annotated[Opt[str], Field("Not used: imports of crons need nobody's rights.")] = UNSET
    created_by: Annotated[Opt[str], Field("Not used: imports of crons need nobody's rights.")] = UNSET
    source: Annotated[Opt[DataVolumeSource], Field("An older way to write template.spec.source; stored as that.")] = (
        UNSET
    )
    garbage_collect_outdated: Annotated[
        Opt[bool], Field("An older way to write garbageCollect; stored as Outdated or Never.")
    ] = UNSET


def normalise(spec: object, old: object = None) -> None:
    """Rewrites, in place, what was written in the older way. Anything may stand there: no schema has seen it.

    Where both ways are used and differ, the older one counts if the newer one merely came along from `old`,
    the stored spec, as it does in every patch. Else both stay, and the rules refuse them.
    """
    if not isinstance(spec, dict):
        return
    before = old if isinstance(old, dict) else {}
    _take_source(spec, before.get("template"))
    outdated = spec.get("garbageCollectOutdated")
    if isinstance(outdated, bool):
        wanted = "Outdated" if outdated else "Never"
        if spec.get("garbageCollect", wanted) in (wanted, before.get("garbageCollect")):
            spec["garbageCollect"] = wanted
            del spec["garbageCollectOutdated"]


def _take_source(spec: Object, stored: object) -> None:
    source = spec.get("source")
    if not isinstance(source, dict):
        return
    if "template" not in spec:
        spec["template"] = {"spec": {"source": source, "storage": {}}}
    else:
        template = spec["template"]
        inner = template.get("spec") if isinstance(template, dict) else None
        if not isinstance(inner, dict) or not (inner.get("source") == source or template == stored):
            return
        inner["source"] = source
    del spec["source"]


def cron_faults(spec: Object, path: str) -> list[Cause]:
    """The faults of a cron's spec that lies at `path`, is normalised and that its schema accepts."""
    faults = []
    if spec.get("schedule"):
        try:
            Schedule.parse(spec["schedule"])
        except ScheduleError as error:
            message = f'Invalid value: "{error.text}": {error.why}'
            faults.append(Cause(f"{path}.schedule", message, "FieldValueInvalid"))
    if "template" in spec:
        faults += volume_faults(spec["template"]["spec"], f"{path}.template.spec")
    return faults
