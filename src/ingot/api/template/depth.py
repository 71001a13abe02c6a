"""How deep the objects of a template may be nested: who fills them in, prints or copies them walks level by level."""

from typing import Any, Final

# No manifest has a third of it; what has more could exhaust the stack of whoever reads it.
MOST_LEVELS: Final = 100
TOO_DEEP: Final = f"objects and lists are nested more than {MOST_LEVELS} levels deep"


def too_deep(value: Any) -> bool:
    """Whether objects and lists are nested deeper in a JSON value than a template may have them."""
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
