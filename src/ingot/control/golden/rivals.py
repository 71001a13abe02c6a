"""Several crons for one DataSource: the oldest has it."""

from collections.abc import Iterable

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

_BY_DATA_SOURCE = "managed-data-source"


def _by_data_source(cron: Object) -> list[str]:
    return [str(managed_by(cron))]


def managed_by(cron: Object) -> Key:
    """The DataSource that the cron manages, or wants to."""
    return Key(namespace_of(cron), cron["spec"]["managedDataSource"])


class Rivals:
    """Crons by the DataSource that they manage."""

    def __init__(self, manager: Manager) -> None:
        self.crons = manager.informer(DATA_IMPORT_CRONS).cache
        self.crons.add_index(_BY_DATA_SOURCE, _by_data_source)

    def holder(self, cron: Object) -> Object | None:
        """The other cron that has the DataSource; None where it is this one's."""
        found = self.oldest(managed_by(cron))
        return None if found is None or uid_of(found) == uid_of(cron) else found

    def oldest(self, key: Key) -> Object | None:
        """The cron that has that DataSource; None where no cron that stays wants it."""
        return holder_of(self.for_data_source(key))

    def of(self, cron: Object) -> list[Key]:
        """All crons that want the DataSource which this one wants."""
        return [key_of(each) for each in self.for_data_source(managed_by(cron))]

    def for_data_source(self, key: Key) -> list[Object]:
        return self.crons.by_index(_BY_DATA_SOURCE, str(key))


def holder_of(rivals: Iterable[Object]) -> Object | None:
    """Which of the crons for one DataSource has it; None where all are about to go."""
    return min((each for each in rivals if not is_deleting(each)), key=_age, default=None)


def _age(cron: Object) -> tuple[str, str]:
    """Times have no fractions: of two that were made in one second it is the first by name, for every process."""
    return str(cron["metadata"].get("creationTimestamp", "")), name_of(cron)
