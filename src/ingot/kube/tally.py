"""What the controllers of a process have done so far, counted."""

from collections import Counter, defaultdict

from ingot.kube.controller import Observation, Outcome


class Tally:
    """Calls of `reconcile` by controller and outcome, and the seconds that they took by controller."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, Outcome]] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def take(self, observation: Observation) -> None:
        self.calls[observation.controller, observation.outcome] += 1
        self.seconds[observation.controller] += observation.seconds
