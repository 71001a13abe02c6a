"""The part of a domain that is not a device: firmware, CPU, memory, features, clock."""

from xml.etree.ElementTree import Element

from ingot.api.kubevirt import sizes
from ingot.api.object import Object
from ingot.node.domain.element import on_off, put, yes_no

DEFAULT_MACHINE = "q35"
# A string of the firmware's tables that names the instance: QEMU has it in its arguments, so that its process is
# told from all others, of this Ingot and of any other on the machine.
INSTANCE_MARK = "ingot-instance:"
# Features of Hyper-V that are there or not, by their names in the API and in libvirt.
_HYPERV = {
    "relaxed": "relaxed",
    "vapic": "vapic",
    "vpindex": "vpindex",
    "runtime": "runtime",
    "synic": "synic",
    "reset": "reset",
    "frequencies": "frequencies",
    "reenlightenment": "reenlightenment",
    "ipi": "ipi",
    "evmcs": "evmcs",
}


def add_memory(root: Element, spec: Object) -> None:
    put(root, "memory", sizes.guest_memory(spec), unit="b")


def add_cpu(root: Element, spec: Object, model: str) -> None:
    """CPUs with their topology; `model` is the node's choice for machines that name none."""
    sockets, cores, threads = sizes.topology(spec)
    asked = (spec["domain"].get("cpu")) or {}
    name = asked.get("model") or model
    put(root, "vcpu", sockets * cores * threads, placement="static")
    modes = ("host-passthrough", "host-model", "maximum")
    cpu = put(root, "cpu", mode=name if name in modes else "custom")
    if name not in modes:
        put(cpu, "model", name)
    put(cpu, "topology", sockets=sockets, cores=cores, threads=threads)
    for feature in asked.get("features") or ():
        put(cpu, "feature", name=feature["name"], policy=feature.get("policy", "require"))


def add_firmware(root: Element, spec: Object, uid: str) -> None:
    domain = spec["domain"]
    firmware = domain.get("firmware") or {}
    loader = firmware.get("bootloader") or {}
    system = put(root, "os")
    if "efi" in loader:
        system.set("firmware", "efi")
    machine = (domain.get("machine") or {}).get("type") or DEFAULT_MACHINE
    put(system, "type", "hvm", arch="x86_64", machine=machine)
    if "efi" in loader:
        chosen = put(system, "firmware")
        secure = (loader["efi"] or {}).get("secureBoot", True)
        put(chosen, "feature", enabled=yes_no(secure), name="secure-boot")
    put(system, "smbios", mode="sysinfo")
    if (loader.get("bios") or {}).get("useSerial"):
        put(system, "bios", useserial="yes")
    _add_system_information(root, domain, uid)


def _add_system_information(root: Element, domain: Object, uid: str) -> None:
    information = put(root, "sysinfo", type_="smbios")
    system = put(information, "system")
    put(system, "entry", "Ingot", name="manufacturer")
    if serial := (domain.get("firmware") or {}).get("serial"):
        put(system, "entry", serial, name="serial")
    chassis = domain.get("chassis") or {}
    if chassis:
        place = put(information, "chassis")
        for key in ("manufacturer", "version", "serial", "asset", "sku"):
            if chassis.get(key):
                put(place, "entry", chassis[key], name=key)
    put(put(information, "oemStrings"), "entry", f"{INSTANCE_MARK}{uid}")


def add_features(root: Element, spec: Object, *, emulated: bool) -> None:
    """What the machine has beside devices. An `emulated` CPU offers nothing of Hyper-V's: it only makes guests faster,
    and QEMU would refuse to start with it."""
    asked = spec["domain"].get("features") or {}
    features = put(root, "features")
    if _enabled(asked.get("acpi", {})):
        put(features, "acpi")
    if _enabled(apic := asked.get("apic") or {}):
        eoi = apic.get("endOfInterrupt")
        put(features, "apic", **({} if eoi is None else {"eoi": on_off(eoi)}))
    loader = (spec["domain"].get("firmware") or {}).get("bootloader") or {}
    secure = "efi" in loader and (loader["efi"] or {}).get("secureBoot", True)
    if secure or "smm" in asked:
        put(features, "smm", state=on_off(secure or _enabled(asked["smm"])))
    if (asked.get("kvm") or {}).get("hidden"):
        put(put(features, "kvm"), "hidden", state="on")
    if "pvspinlock" in asked:
        put(features, "pvspinlock", state=on_off(_enabled(asked["pvspinlock"])))
    if not emulated:
        _add_hyperv(features, asked)


def _add_hyperv(features: Element, asked: Object) -> None:
    if "hypervPassthrough" in asked and _enabled(asked["hypervPassthrough"]):
        put(features, "hyperv", mode="passthrough")
        return
    wanted = asked.get("hyperv") or {}
    if not wanted:
        return
    hyperv = put(features, "hyperv", mode="custom")
    for key, name in _HYPERV.items():
        if key in wanted:
            put(hyperv, name, state=on_off(_enabled(wanted[key])))
    if "spinlocks" in wanted:
        retries = (wanted["spinlocks"] or {}).get("spinlocks", 8191)
        put(hyperv, "spinlocks", state=on_off(_enabled(wanted["spinlocks"])), retries=retries)
    if "vendorid" in wanted:
        vendor = (wanted["vendorid"] or {}).get("vendorid", "")
        put(hyperv, "vendor_id", state=on_off(_enabled(wanted["vendorid"])), value=vendor)
    if "tlbflush" in wanted:
        put(hyperv, "tlbflush", state=on_off(_enabled(wanted["tlbflush"])))
    if "synictimer" in wanted:
        timer = put(hyperv, "stimer", state=on_off(_enabled(wanted["synictimer"])))
        if "direct" in (wanted["synictimer"] or {}):
            put(timer, "direct", state=on_off(_enabled(wanted["synictimer"]["direct"])))


def _enabled(state: Object | None) -> bool:
    return bool((state or {}).get("enabled", True))


def add_clock(root: Element, spec: Object, *, emulated: bool) -> None:
    asked = spec["domain"].get("clock") or {}
    if "timezone" in asked:
        clock = put(root, "clock", offset="timezone", timezone=asked["timezone"])
    elif offset := (asked.get("utc") or {}).get("offsetSeconds"):
        clock = put(root, "clock", offset="variable", adjustment=offset, basis="utc")
    else:
        clock = put(root, "clock", offset="utc")
    timers = asked.get("timer") or {}
    for key, name in (("rtc", "rtc"), ("pit", "pit"), ("hpet", "hpet"), ("kvm", "kvmclock"), ("hyperv", "hypervclock")):
        if key not in timers or (emulated and key == "hyperv"):
            continue
        state = timers[key] or {}
        timer = put(clock, "timer", name=name, present=yes_no(state.get("present", True)))
        if "tickPolicy" in state:
            timer.set("tickpolicy", state["tickPolicy"])
        if "track" in state:
            timer.set("track", state["track"])
