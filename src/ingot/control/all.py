"""All controllers: of machines, of volumes, and of golden images."""

from ingot.control.classic import ClassicVMs
from ingot.control.golden.crons import Crons
from ingot.control.golden.datasources import DataSources
from ingot.control.golden.hyperconverged import HyperConvergeds
from ingot.control.golden.polls import Polls
from ingot.control.golden.ssp import SSPs
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.replicaset import ReplicaSets
from ingot.control.snapshots.ability import SnapshotAbility
from ingot.control.snapshots.content import SnapshotContents
from ingot.control.snapshots.restore import MachineRestores
from ingot.control.snapshots.snapshot import MachineSnapshots
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.direct_upload import DirectUploads
from ingot.control.volumes.populator import Populators
from ingot.control.volumes.snapshot_notes import SnapshotNotes
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager


def add_all(manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
    """Adds every controller to the manager, to be called before that runs. `outfit` is what their pods run in."""
    Machines(manager, clock)
    Instances(manager, clock, outfit)
    ReplicaSets(manager, clock)
    ClassicVMs(manager, clock)
    DataVolumes(manager, clock, outfit)
    Populators(manager, clock, outfit)
    DirectUploads(manager, clock, outfit)
    SnapshotNotes(manager, clock)
    MachineSnapshots(manager, clock)
    SnapshotContents(manager, clock, outfit)
    MachineRestores(manager, clock)
    SnapshotAbility(manager, clock)
    SSPs(manager, clock)
    DataSources(manager, clock)
    Polls(manager, clock)
    Crons(manager, clock)
    HyperConvergeds(manager, clock)
