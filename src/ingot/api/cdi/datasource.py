"""DataSource: a name that stays, for a volume or snapshot that is replaced from time to time (G2)."""

from typing import Annotated

from ingot.api.cdi.condition import Conditions
from ingot.api.cdi.sources import ClaimSource, SnapshotSource
from ingot.api.machinery import UNSET, Field, Kind, Opt, Rule, Shape, Version, kind
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import Cause


class DataSourceReference(Shape):
    """Another DataSource that is followed. It must not itself follow a third one."""

    namespace: Annotated[str, Field("The DataSource's namespace, the same as of the one that follows.", min_length=1)]
    name: Annotated[str, Field("The DataSource's name.", min_length=1)]


class DataSourceSource(Shape):
    """What the name stands for. Nothing at all is a link that dangles: it may be filled in later."""

    RULES = (
        Rule(
            "[has(self.pvc), has(self.snapshot), has(self.dataSource)].filter(said, said).size() <= 1",
            "at most one of pvc, snapshot and dataSource is expected",
        ),
    )

    pvc: Opt[ClaimSource] = UNSET
    snapshot: Opt[SnapshotSource] = UNSET
    data_source: Opt[DataSourceReference] = UNSET


class DataSourceSpec(Shape):
    """What the name is to stand for."""

    source: DataSourceSource


class DataSourceStatus(Shape):
    """What the name points to at the moment. The condition Ready says whether it can be cloned."""

    source: Annotated[Opt[DataSourceSource], Field("The volume or snapshot at the end of the link.")] = UNSET
    conditions: Opt[Conditions] = UNSET


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    followed = new["spec"]["source"].get("dataSource")
    if followed == {"namespace": namespace_of(new), "name": name_of(new)}:
        message = "Unsupported value: a DataSource cannot follow itself; another one is expected"
        return [Cause("spec.source.dataSource", message, "FieldValueNotSupported")]
    return []


@kind(
    group="cdi.kubevirt.io",
    plural="datasources",
    short_names=("das",),
    categories=("all",),
    versions=(Version("v1beta1"),),
    validate=_validate,
)
class DataSource(Kind, kw_only=True):
    """A link to a volume or snapshot, which DataVolumes clone by the link's name. It may be moved at any time."""

    spec: DataSourceSpec
    status: Opt[DataSourceStatus] = UNSET
