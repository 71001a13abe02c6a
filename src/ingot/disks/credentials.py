"""Where a volume's secret is kept for libvirt: under a name that a domain may show, never the value."""


def secret_usage(vmi_uid: str, volume: str) -> str:
    """The usage by which the node defines the libvirt secret of a machine's volume, and the domain refers to it."""
    return f"ingot.{vmi_uid}.{volume}"
