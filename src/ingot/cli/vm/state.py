"""The state of a machine in a few words."""

from ingot.api.object import Object
from ingot.kube.objects import condition, is_true


def instance_state(instance: Object) -> str:
    """Its phase, and what keeps it from the next one."""
    phase, status = _phase(instance), instance.get("status") or {}
    hindrance = condition(instance, "Synchronized") or {}
    if hindrance.get("status") == "False":
        why = ": ".join(str(hindrance[key]) for key in ("reason", "message") if hindrance.get(key))
        return f"{phase} ({why})" if why else phase
    return f"{phase} ({status['reason']})" if status.get("reason") else phase


def instance_words(instance: Object) -> str:
    """Its phase, and in one word what keeps it from the next one: its conditions say the rest."""
    hindrance = condition(instance, "Synchronized") or {}
    reason = hindrance.get("reason") if hindrance.get("status") == "False" else None
    reason = reason or (instance.get("status") or {}).get("reason")
    return f"{_phase(instance)} ({reason})" if reason else _phase(instance)


def _phase(instance: Object) -> str:
    if is_true(instance, "Paused"):
        return "Paused"
    return str((instance.get("status") or {}).get("phase") or "Pending")


def machine_word(machine: Object | None, instance: Object | None) -> str:
    """One word for a table: what the machine says of itself, or what its instance is."""
    said = ((machine or {}).get("status") or {}).get("printableStatus")
    if said:
        return str(said)
    if instance is None:
        return "Stopped"
    if instance["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return _phase(instance)
