"""What the agent's server asks of the node: the guests that run here, by the names of their instances."""

import socket
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

    async def console(self, namespace: str, name: str) -> socket.socket:
        """A connection to the guest's first serial port; what it said a moment before comes first."""

    async def screen(self, namespace: str, name: str) -> socket.socket:
        """A connection to the guest's screen, which speaks RFB."""
