"""Which DataSources of the common templates a cron keeps fresh, and which are a person's own (G5)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ingot.api.cdi.names import IMPORT_CRON
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_SOURCES
from ingot.control.golden import belonging, common


class Link(StrEnum):
    """How a common DataSource is linked."""

    # To the claim that templates cloned before there were DataSources, whether that is there or not.
    DANGLING = "dangling"
    # To what a cron of the SSP imports.
    AUTOMATIC = "automatic"
    # By somebody else, who is left alone.
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there for one common DataSource.

    `found` is the DataSource; `ordered`: the SSP has a cron template for it; `has_claim`: a person has made a claim of
    its name; `managed`: it follows a cron that is not the SSP's; `has_own`: it stands for an image that is there, and
    that no cron of the SSP has brought.
    """

    name: str
    found: Object | None = None
    ordered: bool = False
    has_claim: bool = False
    managed: bool = False
    has_own: bool = False


def link_of(seen: Seen, ssp: Object) -> Link:
    """How it is to be linked. Images that people made come before those that crons would import.

    Whoever wants a cron's all the same says so with the label of imports on the DataSource, and takes that away to have
    one's own again.
    """
    if seen.managed or not _may_take(seen, ssp):
        return Link.FOREIGN
    if seen.ordered and (is_labelled(seen.found) or not seen.has_claim):
        return Link.AUTOMATIC
    return Link.FOREIGN if seen.has_own else Link.DANGLING


def _may_take(seen: Seen, ssp: Object) -> bool:
    """Whether a DataSource that somebody else made says what ours would say, or was given up to a cron of ours."""
    if seen.found is None or belonging.is_of(seen.found, ssp):
        return True
    given_up = seen.ordered and is_labelled(seen.found)
    return given_up or seen.found["spec"] in (common.dangling(seen.name), {"source": {}})


def is_managed(found: Object | None, cron: Object | None, ssp: Object) -> bool:
    """Whether a DataSource follows that cron, which is there, if only until it has gone, and is not the SSP's."""
    if found is None or cron is None or belonging.is_of(cron, ssp):
        return False
    return bool(cron["spec"]["managedDataSource"] == name_of(found))


def manager_of(found: Object | None) -> str:
    """The name of the cron that a DataSource says it follows; "" where it says none."""
    return _label(found) or ""


def is_labelled(found: Object | None) -> bool:
    """Whether a DataSource follows a cron, or is to, whatever the label says."""
    return _label(found) is not None


def _label(found: Object | None) -> str | None:
    return None if found is None else (found["metadata"].get("labels") or {}).get(IMPORT_CRON)


def new(name: str) -> Object:
    """A common DataSource as it begins."""
    return {
        "apiVersion": DATA_SOURCES.api_version,
        "kind": DATA_SOURCES.kind,
        "metadata": {"name": name, "namespace": common.NAMESPACE},
        "spec": common.dangling(name),
    }


def follow(source: Object, crons: Sequence[str]) -> None:
    """Leave it to a cron, which moves it when an import is complete. Until then it stays where it points.

    Of several crons that want it one has it, as they have settled among themselves.
    """
    if _label(source) not in crons:
        source["metadata"]["labels"] = {**(source["metadata"].get("labels") or {}), IMPORT_CRON: crons[0]}


def cut(source: Object) -> None:
    """Take it back from its cron."""
    labels = source["metadata"].get("labels") or {}
    source["metadata"]["labels"] = {key: value for key, value in labels.items() if key != IMPORT_CRON}
    source["spec"] = common.dangling(name_of(source))


def disown(source: Object, ended: Collection[str]) -> None:
    """Take away the references to owners of these uids, which are about to go.

    With its last owner gone the DataSource would be collected, and templates be without it until it is made anew.
    """
    references = source["metadata"].get("ownerReferences") or ()
    kept = [each for each in references if each.get("uid") not in ended]
    if len(kept) < len(references):
        source["metadata"]["ownerReferences"] = kept
