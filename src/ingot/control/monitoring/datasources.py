"""Whether what DataSources lead to can be cloned (G9)."""

from collections.abc import Iterator

from ingot.api.cdi.names import DESIRED_DIGEST
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_SOURCES, VOLUME_CLAIMS
from ingot.control.golden.imports import is_named_after_version
from ingot.control.golden.links import target_of
from ingot.control.monitoring.family import Family, gauge
from ingot.control.volumes.marks import annotation
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_deleting, is_true

_LABELS = ("ns", "name", "leads_to")


class DataSourceFigures:
    """Of each DataSource that somebody has looked at, with what it leads to: only a complete version is ever pointed
    to, while a claim of another name may be one that nobody has filled yet."""

    def __init__(self, manager: Manager) -> None:
        self._links = manager.informer(DATA_SOURCES)
        self._claims = manager.informer(VOLUME_CLAIMS)

    def families(self) -> Iterator[Family]:
        links = [link for link in self._links.cache.list() if condition(link, "Ready") and not is_deleting(link)]
        doc = "1 where a DataSource can be cloned; leads_to: a version of a golden image, or something else"
        found = (((namespace_of(link), name_of(link), self._leads_to(link)), is_true(link, "Ready")) for link in links)
        yield gauge("ingot_datasource_ready", doc, _LABELS, found)

    def _leads_to(self, link: Object) -> str:
        target = target_of(link)
        if target is None or not is_named_after_version(target.name):
            return "other"
        claim = self._claims.cache.get(target)
        # Of one that is gone nothing but its name is known.
        return "version" if claim is None or annotation(claim, DESIRED_DIGEST) else "other"
