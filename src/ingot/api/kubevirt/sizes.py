"""How much a machine is: memory and CPUs, which a spec may state in several places."""

from ingot.api import quantity
from ingot.api.object import Object

# For manifests that name no memory at all, as the oldest ones do.
DEFAULT_MEMORY = 256 * 1024 * 1024


def guest_memory(spec: Object) -> int:
    """The guest's memory in bytes: what `memory.guest` says, or what is requested, or the limit."""
    domain = spec.get("domain") or {}
    resources = domain.get("resources") or {}
    stated = (
        (domain.get("memory") or {}).get("guest"),
        (resources.get("requests") or {}).get("memory"),
        (resources.get("limits") or {}).get("memory"),
    )
    return next((quantity.whole(each) for each in stated if each is not None), DEFAULT_MEMORY)


def topology(spec: Object) -> tuple[int, int, int]:
    """Sockets, cores and threads: those that are given, else sockets for the CPUs that are requested, else one."""
    domain = spec.get("domain") or {}
    cpu = domain.get("cpu") or {}
    given = tuple(int(cpu.get(key) or 1) for key in ("sockets", "cores", "threads"))
    if any(key in cpu for key in ("sockets", "cores", "threads")):
        return given[0], given[1], given[2]
    resources = domain.get("resources") or {}
    stated = [(resources.get(key) or {}).get("cpu") for key in ("limits", "requests")]
    count = next((quantity.whole(each) for each in stated if each is not None), 1)
    return max(count, 1), 1, 1


def vcpus(spec: Object) -> int:
    sockets, cores, threads = topology(spec)
    return sockets * cores * threads
