"""An ear for one thing that a guest is to say, which does not take the echo of what was typed for it."""

import re

# As much as is kept of what was heard, to tell whether a word was typed: longer lines than this are not typed.
KEPT = 8192
_BREAK = re.compile(rb"[\r\n]")
_SPACE = re.compile(rb"\s+")


class Ear:
    """Listens for `wanted`. A terminal repeats what is typed, some shells twice: what follows the words that were
    typed before it on its line is such an echo. A line that begins with `wanted` is taken for one once."""

    def __init__(self, wanted: bytes) -> None:
        self._wanted = wanted
        self._typed = [b""]
        self._heard = b""
        self._looked = 0

    def type(self, chunk: bytes) -> None:
        """This goes to the guest now."""
        first, *rest = _BREAK.split(chunk)
        self._typed[-1] += first
        self._typed += rest
        self._typed = [line for line in self._typed[:-1] if self._wanted in line] + self._typed[-1:]

    def hears(self, chunk: bytes) -> bool:
        """Whether the guest has said it with this."""
        if not self._wanted:
            return False
        self._heard += chunk
        while (at := self._heard.find(self._wanted, self._looked)) >= 0:
            self._looked = at + 1
            if not self._is_echo(at):
                return True
        self._looked = max(self._looked, len(self._heard) - len(self._wanted) + 1)
        surplus = max(0, len(self._heard) - KEPT)
        self._heard, self._looked = self._heard[surplus:], max(0, self._looked - surplus)
        return False

    def _is_echo(self, at: int) -> bool:
        before = _SPACE.sub(b"", self._heard[:at])
        for number, line in enumerate(self._typed):
            typed, found, rest = line.partition(self._wanted)
            if typed and found and before.endswith(_SPACE.sub(b"", typed)):
                return True
            if found and not typed:
                self._typed[number] = rest
                return True
        return False
