"""Network interfaces of a machine and the networks that they are on."""

from typing import Annotated, Literal

import msgspec

from ingot.api.kubevirt.disk import BootOrder, PciAddress
from ingot.api.machinery import UNSET, Field, Int32, Opt, Shape


class Binding(Shape):
    """A way to connect that has nothing to say beyond its name."""


class PluginBinding(Shape):
    """A way to connect that a plugin brings."""

    name: Annotated[str, Field("The plugin's name.")]


class Port(Shape):
    """A port that is passed to the guest."""

    port: Annotated[Int32, Field("The port's number.", minimum=1, maximum=65535)]
    protocol: Annotated[Opt[Literal["TCP", "UDP"]], Field("TCP unless told.")] = UNSET
    name: Annotated[Opt[str], Field("A name for Services.")] = UNSET


class DhcpOption(Shape):
    """A private DHCP option."""

    option: Annotated[Int32, Field("Its number.", minimum=224, maximum=254)]
    value: Annotated[str, Field("Its value.")]


class DhcpOptions(Shape):
    """What DHCP tells the guest besides its address."""

    boot_file_name: Annotated[Opt[str], Field("Option 67.")] = UNSET
    tftp_server_name: Annotated[Opt[str], Field("Option 66.")] = UNSET
    ntp_servers: Annotated[Opt[list[str]], Field("Time servers.")] = UNSET
    private_options: Annotated[Opt[list[DhcpOption]], Field("Private options.")] = UNSET


class Interface(Shape):
    """A network card, on the network of the same name."""

    name: Annotated[str, Field("The name of the network that it is on.")]
    model: Annotated[
        Opt[Literal["e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio"]],
        Field("The card that the guest sees; virtio unless told."),
    ] = UNSET
    bridge: Annotated[Opt[Binding], Field("On a bridge to the network.")] = UNSET
    masquerade: Annotated[Opt[Binding], Field("Behind address translation.")] = UNSET
    sriov: Annotated[Opt[Binding], Field("A device passed through.")] = UNSET
    slirp: Annotated[Opt[Binding], Field("QEMU's user networking.")] = UNSET
    macvtap: Annotated[Opt[Binding], Field("A macvtap device.")] = UNSET
    passt: Annotated[Opt[Binding], Field("passt.")] = UNSET
    passt_binding: Annotated[Opt[Binding], Field("passt.")] = UNSET
    binding: Opt[PluginBinding] = UNSET
    ports: Annotated[Opt[list[Port]], Field("Ports that are passed on; all when there are none.")] = UNSET
    mac_address: Annotated[
        Opt[str], Field("The hardware address.", pattern="^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$")
    ] = UNSET
    boot_order: BootOrder = UNSET
    pci_address: PciAddress = UNSET
    dhcp_options: Opt[DhcpOptions] = UNSET
    tag: Annotated[Opt[str], Field("A tag that the guest finds in its config drive.")] = UNSET
    acpi_index: Annotated[Opt[Int32], Field("A stable number for the device's name.", minimum=1)] = UNSET
    state: Annotated[Opt[Literal["absent", "up", "down", ""]], Field("The state of the link.")] = UNSET


class PodNetwork(Shape):
    """The network of the pod."""

    vm_network_cidr: Annotated[Opt[str], Field("The guest's side of it.")] = msgspec.field(
        name="vmNetworkCIDR", default=UNSET
    )
    vm_ipv6_network_cidr: Annotated[Opt[str], Field("The guest's side of it.")] = msgspec.field(
        name="vmIPv6NetworkCIDR", default=UNSET
    )


class MultusNetwork(Shape):
    """A NetworkAttachmentDefinition."""

    network_name: Annotated[str, Field("Its name, or namespace/name.")]
    default: Annotated[Opt[bool], Field("Whether it is the pod's default network.")] = UNSET


class Network(Shape):
    """A network that an interface of the same name is on."""

    name: Annotated[str, Field("The network's name.")]
    pod: Opt[PodNetwork] = UNSET
    multus: Opt[MultusNetwork] = UNSET
