"""Features of the hypervisor and the clock that the guest sees."""

from typing import Annotated, Literal

from ingot.api.machinery import UNSET, Field, Int32, Opt, Rule, Shape

Enabled = Annotated[Opt[bool], Field("Whether it is on; true unless told.")]
Present = Annotated[Opt[bool], Field("Whether the timer is there; true unless told.")]


class FeatureState(Shape):
    """A feature that is on or off."""

    enabled: Enabled = UNSET


class Apic(Shape):
    """The interrupt controller."""

    enabled: Enabled = UNSET
    end_of_interrupt: Annotated[Opt[bool], Field("Whether the guest is told of an interrupt's end.")] = UNSET


class Spinlocks(Shape):
    """Spinlocks of Hyper-V."""

    enabled: Enabled = UNSET
    spinlocks: Annotated[Opt[Int32], Field("How often is retried.", minimum=4096)] = UNSET


class VendorId(Shape):
    """The vendor that the hypervisor claims."""

    enabled: Enabled = UNSET
    vendorid: Annotated[Opt[str], Field("The vendor's name.", max_length=12)] = UNSET


class SynicTimer(Shape):
    """Timers of Hyper-V's interrupt controller."""

    enabled: Enabled = UNSET
    direct: Opt[FeatureState] = UNSET


class TlbFlush(Shape):
    """Flushing the TLB through the hypervisor."""

    enabled: Enabled = UNSET
    direct: Opt[FeatureState] = UNSET
    extended: Opt[FeatureState] = UNSET


class Hyperv(Shape):
    """What a Windows guest finds of Hyper-V."""

    relaxed: Opt[FeatureState] = UNSET
    vapic: Opt[FeatureState] = UNSET
    spinlocks: Opt[Spinlocks] = UNSET
    vpindex: Opt[FeatureState] = UNSET
    runtime: Opt[FeatureState] = UNSET
    synic: Opt[FeatureState] = UNSET
    synictimer: Opt[SynicTimer] = UNSET
    reset: Opt[FeatureState] = UNSET
    vendorid: Opt[VendorId] = UNSET
    frequencies: Opt[FeatureState] = UNSET
    reenlightenment: Opt[FeatureState] = UNSET
    tlbflush: Opt[TlbFlush] = UNSET
    ipi: Opt[FeatureState] = UNSET
    evmcs: Opt[FeatureState] = UNSET


class Kvm(Shape):
    """How much of KVM the guest sees."""

    hidden: Annotated[Opt[bool], Field("Whether the guest cannot tell that it runs on KVM.")] = UNSET


class Features(Shape):
    """Features of the hypervisor."""

    acpi: Opt[FeatureState] = UNSET
    apic: Opt[Apic] = UNSET
    hyperv: Opt[Hyperv] = UNSET
    hyperv_passthrough: Annotated[Opt[FeatureState], Field("All of Hyper-V that the host can do.")] = UNSET
    smm: Opt[FeatureState] = UNSET
    kvm: Opt[Kvm] = UNSET
    pvspinlock: Opt[FeatureState] = UNSET


class TimerState(Shape):
    """A timer that is there or not."""

    present: Present = UNSET


class Hpet(Shape):
    """The high precision event timer."""

    present: Present = UNSET
    tick_policy: Opt[Literal["delay", "catchup", "merge", "discard"]] = UNSET


class Pit(Shape):
    """The programmable interval timer."""

    present: Present = UNSET
    tick_policy: Opt[Literal["delay", "catchup", "discard"]] = UNSET


class Rtc(Shape):
    """The real time clock."""

    present: Present = UNSET
    tick_policy: Opt[Literal["delay", "catchup"]] = UNSET
    track: Annotated[Opt[Literal["guest", "wall"]], Field("Whose time it follows.")] = UNSET


class Timer(Shape):
    """The timers of the guest."""

    hpet: Opt[Hpet] = UNSET
    kvm: Opt[TimerState] = UNSET
    pit: Opt[Pit] = UNSET
    rtc: Opt[Rtc] = UNSET
    hyperv: Opt[TimerState] = UNSET


class Utc(Shape):
    """A clock in UTC."""

    offset_seconds: Annotated[Opt[int], Field("How far from UTC it starts.")] = UNSET


class Clock(Shape):
    """The guest's clock and timers."""

    RULES = (Rule("!(has(self.utc) && has(self.timezone))", "utc and timezone exclude each other"),)

    utc: Opt[Utc] = UNSET
    timezone: Annotated[Opt[str], Field("A clock in a timezone, such as Europe/Berlin.")] = UNSET
    timer: Opt[Timer] = UNSET
