"""Libraries of the machine that are bound by ctypes."""

import ctypes

from ingot.images.fault import ImageFault


def load(name: str, what: str, package: str) -> ctypes.CDLL:
    """The library `name`, which people call `what`. Raises ImageFault, which names Debian's package, where it is not
    installed."""
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        message = f"{name} cannot be loaded ({error}): install Debian's package {package}"
        raise ImageFault(what, "Missing", message) from None
