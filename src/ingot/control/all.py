"""All controllers of machines."""

from ingot.control.classic import ClassicVMs
from ingot.control.instance import Instances
from ingot.control.machine import Machines
from ingot.control.replicaset import ReplicaSets
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager


def add_all(manager: Manager, clock: Clock = SYSTEM) -> None:
    """Adds every controller to the manager, to be called before that runs."""
    Machines(manager, clock)
    Instances(manager, clock)
    ReplicaSets(manager, clock)
    ClassicVMs(manager, clock)
