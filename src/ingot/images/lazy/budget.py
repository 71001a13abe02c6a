"""How many bytes may be fetched that nobody has asked for."""

# This much may always be guessed: a guest that has just begun has touched nothing yet.
CREDIT = 4 << 20
# Guesses that nobody has used so far may be this part of what was used.
SHARE = 0.275


class Budget:
    """Keeps all that is moved within 1 + `share` times what was touched, or within `credit` more than it where that is
    more, whatever is read.

    A guess is spent when it is made and comes back when its chunk is touched, so good guesses cost nothing. What was
    touched counts by its weight, guesses by their cost, which is no less. One thread at a time.
    """

    def __init__(self, credit: int = CREDIT, share: float = SHARE) -> None:
        self._credit = credit
        self._share = share
        self.touched = 0
        self.guessed = 0

    @property
    def left(self) -> int:
        """How many bytes more may be guessed now."""
        return max(self._credit, int(self._share * self.touched)) - self.guessed

    def spend(self, cost: int) -> bool:
        """Takes a guess of this cost; whether there was enough for it."""
        if cost > self.left:
            return False
        self.guessed += cost
        return True

    def charge(self, cost: int) -> None:
        """Takes a guess that is made whatever is left."""
        self.guessed += cost

    def give_back(self, cost: int) -> None:
        """A guess was touched, or was never fetched."""
        self.guessed -= cost

    def touch(self, weight: int) -> None:
        """A chunk was asked for, for the first time."""
        self.touched += weight
