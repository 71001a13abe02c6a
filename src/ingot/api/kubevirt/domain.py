"""The virtual hardware of a machine: CPU, memory, firmware."""

from typing import Annotated, Literal

from ingot.api.kubevirt.devices import Bare, Devices
from ingot.api.kubevirt.features import Clock, Features
from ingot.api.kubevirt.sources import PullPolicy
from ingot.api.machinery import UNSET, Field, Int32, Opt, Quantity, Raw, Rule, Shape

Count = Annotated[Opt[Int32], Field(minimum=1)]


class CpuFeature(Shape):
    """A feature of the CPU."""

    name: Annotated[str, Field("The feature's name in libvirt.")]
    policy: Annotated[
        Opt[Literal["force", "require", "optional", "disable", "forbid"]], Field("require unless told.")
    ] = UNSET


class Numa(Shape):
    """The guest's NUMA topology."""

    guest_mapping_passthrough: Annotated[Opt[Bare], Field("As the host's CPUs that it is pinned to.")] = UNSET


class Realtime(Shape):
    """Tuning for real time."""

    mask: Annotated[Opt[str], Field("The virtual CPUs that it is for, such as 0-3,^1.")] = UNSET


class Cpu(Shape):
    """The CPU that the guest sees."""

    cores: Annotated[Count, Field("Cores of each socket.")] = UNSET
    sockets: Annotated[Count, Field("Sockets.")] = UNSET
    threads: Annotated[Count, Field("Threads of each core.")] = UNSET
    max_sockets: Annotated[Count, Field("How many sockets there may become.")] = UNSET
    model: Annotated[Opt[str], Field("The model: host-model, host-passthrough, or a name in libvirt.")] = UNSET
    features: Opt[list[CpuFeature]] = UNSET
    dedicated_cpu_placement: Annotated[Opt[bool], Field("Whether CPUs of the host are its own.")] = UNSET
    isolate_emulator_thread: Annotated[Opt[bool], Field("Whether the emulator has one more.")] = UNSET
    numa: Opt[Numa] = UNSET
    realtime: Opt[Realtime] = UNSET


class Hugepages(Shape):
    """Memory in huge pages."""

    page_size: Annotated[Opt[str], Field("The size of a page, such as 2Mi.")] = UNSET


class Memory(Shape):
    """The memory that the guest sees."""

    guest: Annotated[Opt[Quantity], Field("How much; the requested memory unless told.")] = UNSET
    max_guest: Annotated[Opt[Quantity], Field("How much there may become.")] = UNSET
    hugepages: Opt[Hugepages] = UNSET


class Machine(Shape):
    """The mainboard."""

    type: Annotated[str, Field("QEMU's machine type, such as q35.")] = ""


class Bios(Shape):
    """BIOS firmware."""

    use_serial: Annotated[Opt[bool], Field("Whether its output goes to the serial console.")] = UNSET


class Efi(Shape):
    """EFI firmware."""

    secure_boot: Annotated[Opt[bool], Field("Whether only signed systems boot; true unless told.")] = UNSET
    persistent: Annotated[Opt[bool], Field("Whether its variables survive a restart.")] = UNSET


class Bootloader(Shape):
    """The firmware's kind."""

    RULES = (Rule("!(has(self.bios) && has(self.efi))", "bios and efi exclude each other"),)

    bios: Opt[Bios] = UNSET
    efi: Opt[Efi] = UNSET


class KernelContainer(Shape):
    """A container image that holds a kernel."""

    image: Annotated[str, Field("The image's reference.", min_length=1)]
    image_pull_secret: Annotated[Opt[str], Field("The Secret with the registry's credentials.")] = UNSET
    image_pull_policy: PullPolicy = UNSET
    kernel_path: Annotated[Opt[str], Field("The kernel's path in the image.")] = UNSET
    initrd_path: Annotated[Opt[str], Field("The initial RAM disk's path in the image.")] = UNSET


class KernelBoot(Shape):
    """A kernel that is started without a boot loader."""

    container: Opt[KernelContainer] = UNSET
    kernel_args: Annotated[Opt[str], Field("The kernel's command line.")] = UNSET


class Acpi(Shape):
    """ACPI tables out of Secret volumes."""

    slic_name_ref: Annotated[Opt[str], Field("The volume with a SLIC table.")] = UNSET
    msdm_name_ref: Annotated[Opt[str], Field("The volume with an MSDM table.")] = UNSET


class Firmware(Shape):
    """The firmware."""

    uuid: Annotated[Opt[str], Field("The system's UUID.")] = UNSET
    serial: Annotated[Opt[str], Field("The system's serial number.")] = UNSET
    bootloader: Opt[Bootloader] = UNSET
    kernel_boot: Opt[KernelBoot] = UNSET
    acpi: Opt[Acpi] = UNSET


class Chassis(Shape):
    """What the guest reads about its case."""

    manufacturer: Opt[str] = UNSET
    version: Opt[str] = UNSET
    serial: Opt[str] = UNSET
    asset: Opt[str] = UNSET
    sku: Opt[str] = UNSET


class Resources(Shape):
    """What is set aside for the machine on its node."""

    requests: Annotated[Opt[dict[str, Quantity]], Field("What is set aside: memory, cpu.")] = UNSET
    limits: Annotated[Opt[dict[str, Quantity]], Field("What is not exceeded.")] = UNSET
    overcommit_guest_overhead: Annotated[
        Opt[bool], Field("Whether the emulator's own memory is left out of the request.")
    ] = UNSET


class IoThreads(Shape):
    """Options of the I/O threads."""

    supplemental_pool_thread_count: Annotated[Opt[Int32], Field("Threads of the pool.", minimum=1)] = UNSET


class DomainSpec(Shape):
    """The virtual hardware."""

    devices: Devices
    cpu: Opt[Cpu] = UNSET
    memory: Opt[Memory] = UNSET
    machine: Opt[Machine] = UNSET
    firmware: Opt[Firmware] = UNSET
    clock: Opt[Clock] = UNSET
    features: Opt[Features] = UNSET
    resources: Opt[Resources] = UNSET
    chassis: Opt[Chassis] = UNSET
    io_threads_policy: Annotated[
        Opt[Literal["shared", "auto", "supplementalPool"]], Field("How disks share I/O threads.")
    ] = UNSET
    io_threads: Opt[IoThreads] = UNSET
    launch_security: Annotated[Opt[Raw], Field("Encrypted memory: sev, snp or tdx.")] = UNSET
    reboot_policy: Annotated[Opt[Literal["Reboot", "Terminate"]], Field("What a reboot from inside does.")] = UNSET
