"""Sizes that cannot be: memory and CPUs that are none, more than their limits, or less than what they may become."""

from collections.abc import Iterator
from fractions import Fraction

from ingot.api.kubevirt.causes import invalid, not_supported
from ingot.api.object import Object
from ingot.api.quantity import QuantityError, exact
from ingot.api.status import Cause

# Less than any firmware needs.
LEAST_MEMORY = 1 << 20
# Bytes are counted in signed 64 bits by all who deal with them.
MOST_BYTES = (1 << 63) - 1
# More than any machine type of QEMU has.
MOST_CPUS = 4096
_PAGE_SIZES = ("2Mi", "1Gi")


def size_faults(domain: Object, path: str) -> Iterator[Cause]:
    """The faults of the memory and the CPUs of a domain that is found at `path`."""
    yield from _resources(domain.get("resources") or {}, f"{path}.resources")
    yield from _guest_memory(domain, path)
    yield from _memory_limits(domain, path)
    yield from _hugepages(domain, path)
    yield from _cpus(domain.get("cpu") or {}, f"{path}.cpu")


def number(given: str | int | None) -> Fraction | None:
    """The number of a quantity; None for an absent one, and for one that its schema refuses."""
    try:
        return None if given is None else exact(given)
    except QuantityError:
        return None


def _resources(resources: Object, path: str) -> Iterator[Cause]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for place, amounts in (("requests", requests), ("limits", limits)):
        for name, given in amounts.items():
            field, amount = f"{path}.{place}.{name}", number(given)
            if amount is not None and amount < 0:
                yield invalid(field, given, f"{field} '{given}': must be greater than or equal to 0.")
            elif amount is not None and amount > MOST_BYTES:
                yield invalid(field, given, "must be less than 8Ei")
    for name in ("memory", "cpu"):
        asked, most = number(requests.get(name)), number(limits.get(name))
        if asked is not None and most is not None and asked > most:
            why = f"{path}.requests.{name} '{requests[name]}' is greater than {path}.limits.{name} '{limits[name]}'"
            yield invalid(f"{path}.requests.{name}", requests[name], why)
    # The limit is what counts, as in `sizes`.
    place, amounts = ("limits", limits) if "cpu" in limits else ("requests", requests)
    processors = number(amounts.get("cpu"))
    if processors is not None and MOST_CPUS < processors <= MOST_BYTES:
        yield invalid(f"{path}.{place}.cpu", amounts["cpu"], f"a machine has at most {MOST_CPUS} CPUs")


def _guest_memory(domain: Object, path: str) -> Iterator[Cause]:
    """The amount that the guest gets, wherever it is stated."""
    resources = domain.get("resources") or {}
    stated = (
        (f"{path}.memory.guest", (domain.get("memory") or {}).get("guest")),
        (f"{path}.resources.requests.memory", (resources.get("requests") or {}).get("memory")),
        (f"{path}.resources.limits.memory", (resources.get("limits") or {}).get("memory")),
    )
    field, given = next((each for each in stated if each[1] is not None), ("", None))
    amount = number(given)
    if amount is not None and amount < LEAST_MEMORY:
        yield invalid(field, given, f"{field} '{given}': must be at least 1Mi, or left out for a small machine")
    elif amount is not None and amount > MOST_BYTES and field.endswith("guest"):
        yield invalid(field, given, "must be less than 8Ei")


def _memory_limits(domain: Object, path: str) -> Iterator[Cause]:
    memory = domain.get("memory") or {}
    limit = ((domain.get("resources") or {}).get("limits") or {}).get("memory")
    guest, most, ceiling = number(memory.get("guest")), number(memory.get("maxGuest")), number(limit)
    field = f"{path}.memory.guest"
    if guest is not None and ceiling is not None and guest > ceiling:
        place = f"{path}.resources.limits.memory"
        why = f"{field} '{memory['guest']}' must be equal to or less than the memory limit {place} '{limit}'"
        yield invalid(field, memory["guest"], why)
    if most is not None and most < (guest or 0):
        why = f"must be equal to or greater than {field} '{memory['guest']}'"
        yield invalid(f"{path}.memory.maxGuest", memory["maxGuest"], why)


def _hugepages(domain: Object, path: str) -> Iterator[Cause]:
    memory = domain.get("memory") or {}
    pages = memory.get("hugepages")
    if pages is None:
        return
    field, size = f"{path}.memory.hugepages.pageSize", pages.get("pageSize", "")
    requested = ((domain.get("resources") or {}).get("requests") or {}).get("memory")
    given = memory.get("guest", requested)
    amount = number(given)
    if size not in _PAGE_SIZES:
        yield not_supported(field, size, _PAGE_SIZES)
    elif amount is not None and amount % exact(size):
        yield invalid(field, size, f"the guest's memory '{given}' is not a multiple of the page size {field} '{size}'")


def _cpus(cpu: Object, path: str) -> Iterator[Cause]:
    sockets, most = cpu.get("sockets", 1), cpu.get("maxSockets")
    if most is not None and sockets > most:
        why = (
            f"Number of sockets in CPU topology is greater than the maximum sockets allowed ({path}.maxSockets {most})"
        )
        yield invalid(f"{path}.sockets", sockets, why)
    count = sockets * cpu.get("cores", 1) * cpu.get("threads", 1)
    if count > MOST_CPUS:
        why = f"sockets, cores and threads make {count} CPUs, and a machine has at most {MOST_CPUS}"
        yield invalid(path, count, why)
