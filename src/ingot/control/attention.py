"""DataVolumes that nothing acts on: those that have no phase a while after they came."""

from ingot.api.object import Object, name_of, uid_of
from ingot.control.fault import InstanceFault
from ingot.kube.clock import Clock
from ingot.kube.informer import Informer

# Whoever fills DataVolumes gives them a phase within moments.
PATIENCE_SECONDS = 10.0


def filling_of(data_volume: Object) -> str:
    """How far it is: its phase, "" while nobody has looked at it."""
    return str((data_volume.get("status") or {}).get("phase") or "")


class Attention:
    """Since when each DataVolume without a phase has been there, as far as this process has seen."""

    def __init__(self, data_volumes: Informer, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}
        data_volumes.add_handler(self._note)

    def _note(self, old: Object | None, new: Object | None) -> None:
        if new is not None and not filling_of(new):
            self._since.setdefault(uid_of(new), self._clock.monotonic())
        elif gone := new or old:
            self._since.pop(uid_of(gone), None)

    def left(self, data_volume: Object) -> float:
        """Seconds until it may be said that nobody acts on it; 0 for one that has a phase.

        Raises InstanceFault once they have passed.
        """
        since = self._since.get(uid_of(data_volume))
        if since is None:
            return 0.0
        left = since + PATIENCE_SECONDS - self._clock.monotonic()
        if left > 0:
            return left
        message = (
            f'DataVolume "{name_of(data_volume)}" has no status: nothing here fills DataVolumes, and this version of '
            "Ingot does not do so itself. The machine starts by itself once it is filled; a volume of kind "
            "persistentVolumeClaim needs no DataVolume"
        )
        raise InstanceFault("DataVolumeUnattended", message)
