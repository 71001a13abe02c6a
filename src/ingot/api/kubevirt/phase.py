"""The phases of an instance, as `status.phase` and `status.phaseTransitionTimestamps` tell them."""

from ingot.api.object import Object

UNSET = ""
PENDING = "Pending"
SCHEDULING = "Scheduling"
SCHEDULED = "Scheduled"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"

FINAL = frozenset({SUCCEEDED, FAILED})
# Those in which no node has been told of the instance.
EARLY = frozenset({UNSET, PENDING, SCHEDULING})


def phase_of(instance: Object) -> str:
    return str((instance.get("status") or {}).get("phase") or UNSET)


def is_final(instance: Object) -> bool:
    """Whether the guest has ended, or never will begin: such a phase stays."""
    return phase_of(instance) in FINAL


def has_run(instance: Object) -> bool:
    """Whether the guest ever ran."""
    passed = (instance.get("status") or {}).get("phaseTransitionTimestamps") or ()
    return phase_of(instance) == RUNNING or any(each.get("phase") == RUNNING for each in passed)


def enter(instance: Object, phase: str, when: str) -> bool:
    """Begin a phase at that moment; whether that changed the instance. A final phase is never left."""
    if phase_of(instance) == phase or is_final(instance):
        return False
    status = instance.setdefault("status", {})
    status["phase"] = phase
    passed = status.setdefault("phaseTransitionTimestamps", [])
    passed.append({"phase": phase, "phaseTransitionTimestamp": when})
    return True
