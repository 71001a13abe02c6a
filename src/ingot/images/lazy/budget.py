"""How many bytes may be fetched that nobody has asked for."""

# This much may always be guessed: a guest that has just begun has touched nothing yet.
CREDIT = 4 << 20
# Guesses that nobody has used so far may be this part of what was used.
SHARE = 0.275


class Budget:
    """Keeps all that is moved within 1 + `share` times what was touched, or within `credit` more than it where that is
    more, whatever is read.

    A guess is spent when it is made and comes back when its chunk is touched, so good guesses cost nothing. All are in
    bytes as they are moved. One thread at a time.
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

    def spend(self, weight: int) -> bool:
        """Takes a guess of this weight; whether there was enough for it."""
        if weight > self.left:
            return False
        self.guessed += weight
        return True

    def charge(self, weight: int) -> None:
        """Takes a guess that is made whatever is left."""
        self.guessed += weight

    def give_back(self, weight: int) -> None:
        """A guess was touched, or was never fetched."""
        self.guessed -= weight

    def touch(self, weight: int) -> None:
        """A chunk was asked for, for the first time."""
        self.touched += weight
