"""What the server makes up for objects: ends of names, and uids."""

import os
import random
import uuid

SUFFIX = 5
# Neither vowels nor digits that look like them: no generated name spells a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
# Names and uids are no secrets. Asking the kernel for each would give the interpreter away in every create.
_random = random.Random(os.urandom(32))  # noqa: S311


def suffix() -> str:
    """The end of a generated name: SUFFIX characters."""
    return "".join(_random.choices(_ALPHABET, k=SUFFIX))


def uid() -> str:
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))
