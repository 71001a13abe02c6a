"""What the agent's server asks of the node: the guests that run here, by the names of their instances."""

from pathlib import Path
from typing import Protocol


class Guests(Protocol):
    """The running guests of one node.

    Every method raises ApiError: 404 when no guest of that instance is here, 409 when its state does not allow
    what is asked. What is already as it is asked to be is not an error: the caller has seen an older state.
    """

    async def pause(self, namespace: str, name: str) -> None:
        """Stops the guest's CPUs; returns when they stand."""

    async def unpause(self, namespace: str, name: str) -> None:
        """Lets the guest's CPUs run on."""

    async def reset(self, namespace: str, name: str) -> None:
        """Resets the guest at once, as the button on a case does."""

    async def soft_reboot(self, namespace: str, name: str) -> None:
        """Asks the guest to reboot itself, by its agent or by ACPI."""

    def console_socket(self, namespace: str, name: str) -> Path:
        """The unix socket of the guest's first serial port, on which QEMU listens."""

    def vnc_socket(self, namespace: str, name: str) -> Path:
        """The unix socket on which QEMU speaks RFB."""
