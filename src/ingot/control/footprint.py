"""What a machine takes of its node: the guest's memory and what the emulator adds, and a share of CPUs."""

from ingot.api import quantity
from ingot.api.kubevirt import sizes
from ingot.api.object import Object

_MI = 1024 * 1024
# The emulator with its code, heap and caches, a screen, the stack and buffers of each CPU, and the page tables.
_EMULATOR = 64 * _MI
_SCREEN = 16 * _MI
_PER_CPU = 8 * _MI
_PAGE_TABLES = 512

# KubeVirt's cpuAllocationRatio: ten guests' CPUs share one of the node's.
_CPU_SHARE = 100


def overhead(spec: Object) -> int:
    """Bytes that the emulator needs beside the guest's memory."""
    screen = 0 if spec["domain"].get("devices", {}).get("autoattachGraphicsDevice") is False else _SCREEN
    return _EMULATOR + screen + _PER_CPU * sizes.vcpus(spec) + sizes.guest_memory(spec) // _PAGE_TABLES


def resources(spec: Object) -> Object:
    """The `resources` of the container that stands for the machine."""
    given = spec["domain"].get("resources") or {}
    requests, limits = dict(given.get("requests") or {}), dict(given.get("limits") or {})
    requests["memory"] = _memory(spec, requests.get("memory"))
    if "memory" in limits:
        limits["memory"] = quantity.written(quantity.whole(limits["memory"]) + overhead(spec))
    if page := _page_size(spec):
        pages = quantity.written(sizes.guest_memory(spec))
        requests[f"hugepages-{page}"] = limits[f"hugepages-{page}"] = pages
    if (spec["domain"].get("cpu") or {}).get("dedicatedCpuPlacement"):
        requests["cpu"] = limits["cpu"] = str(sizes.vcpus(spec))
    requests.setdefault("cpu", f"{sizes.vcpus(spec) * _CPU_SHARE}m")
    return {"requests": requests, **({"limits": limits} if limits else {})}


def _memory(spec: Object, requested: str | int | None) -> str:
    """The memory request: what was asked for or what the guest has, and the overhead unless that is left out."""
    own = quantity.whole(requested) if requested is not None else sizes.guest_memory(spec)
    if _page_size(spec):
        own = 0
    if (spec["domain"].get("resources") or {}).get("overcommitGuestOverhead"):
        return quantity.written(own)
    return quantity.written(own + overhead(spec))


def _page_size(spec: Object) -> str:
    """The size of huge pages that the guest's memory is made of, or ""."""
    return str(((spec["domain"].get("memory") or {}).get("hugepages") or {}).get("pageSize") or "")
