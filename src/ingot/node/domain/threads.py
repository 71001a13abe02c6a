"""I/O threads of disks."""

from ingot.api.kubevirt.sizes import vcpus
from ingot.api.kubevirt.traits import bus_of
from ingot.api.object import Object

# KubeVirt's: more threads than this for each CPU only wait for each other.
_THREADS_PER_CPU = 2


def io_threads(spec: Object, disks: list[Object]) -> dict[str, int]:
    """The number of each disk's I/O thread, by its name: its own where it asks for one, else one of the policy's.

    The policy's come first, so that there is a first one for whatever else may use it: `shared` has one, `auto` as many
    as there are disks, up to a number that the CPUs give. Only virtio disks have threads.
    """
    able = [disk for disk in disks if bus_of(disk) == "virtio"]
    own = [disk["name"] for disk in able if disk.get("dedicatedIOThread")]
    rest = [disk["name"] for disk in able if not disk.get("dedicatedIOThread")]
    pool = _pool(spec, len(rest))
    numbers = {name: 1 + index % pool for index, name in enumerate(rest)} if pool else {}
    return numbers | {name: number for number, name in enumerate(own, start=pool + 1)}


def _pool(spec: Object, disks: int) -> int:
    policy = spec["domain"].get("ioThreadsPolicy")
    if policy == "auto":
        return max(1, min(disks, vcpus(spec) * _THREADS_PER_CPU))
    return 1 if policy else 0
