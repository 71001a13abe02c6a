"""A version of a golden image as people name it: a tag, the first digits of a digest, or the import's own name."""

import re
from collections.abc import Sequence

import click

from ingot.cli.golden.found import Golden
from ingot.cli.golden.kept import Kept

# With fewer digits, what is meant for a tag would be a digest.
_FEWEST = 4


def choose(golden: Golden, text: str) -> Kept:
    """The version that `text` names, of those that it can stand for. Raises ClickException with these."""
    meant = [one for one in golden.kept if _is_meant(one, text)]
    within = [one for one in meant if golden.reaches(one)]
    if len({one.digest for one in within}) > 1:
        raise click.ClickException(f'"{text}" may be any of {_listed(within)} of {golden.name}: say it with its digest')
    if within:
        return within[0]
    if meant:
        raise _beyond(golden, max(meant, key=lambda one: one.is_usable))
    raise click.ClickException(f'{golden.name} has no version "{text}"; it has {_listed(_within(golden))}')


def back(golden: Golden, text: str) -> Kept:
    """The version to go back to: the one that `text` names, or that served before the present one where it is "".

    Raises ClickException where there is none, or where that is the present one.
    """
    chosen = choose(golden, text) if text else before(golden)
    if golden.current and chosen.digest == golden.current.digest:
        raise click.ClickException(
            f"{golden.name} stands for {chosen.title} already; `ingot golden pin {golden.name}` keeps it there"
        )
    return chosen


def before(golden: Golden) -> Kept:
    """The version that served before the present one. Raises ClickException where none is kept, or within reach.

    Who has gone back already goes on to what is older still, and not to what was left.
    """
    current = golden.current
    if current is None:
        raise click.ClickException(f"{golden.name} stands for no version yet: there is nothing to go back from")
    others = [one for one in golden.kept if one.is_usable and one.digest != current.digest]
    older = [one for one in others if one.served < current.served]
    if golden.is_held_back:
        older = [one for one in older if one.order < current.order]
    if older:
        found = max(older, key=lambda one: one.served)
        if golden.reaches(found):
            return found
        raise _beyond(golden, found)
    named = [one for one in others if golden.reaches(one)]
    hint = f"; name one of {_listed(named)}" if named else ""
    raise click.ClickException(f"no version that served before {current.title} of {golden.name} is kept{hint}")


def _is_meant(one: Kept, text: str) -> bool:
    if text in (one.version, one.title, one.name, one.digest):
        return True
    digits = text.removeprefix("sha256:")
    return bool(re.fullmatch(rf"[0-9a-f]{{{_FEWEST},}}", digits)) and one.digest.startswith(f"sha256:{digits}")


def _beyond(golden: Golden, one: Kept) -> click.ClickException:
    """Why it cannot stand for one of its versions: that is not complete; or it was published, or is another cron's."""
    if not one.is_usable:
        return click.ClickException(f"{one.title} of {golden.name} is not imported; it has {_listed(_within(golden))}")
    name, where = golden.name, f"-n {golden.namespace}"
    return click.ClickException(
        f"{one.title} of {name} was not imported by what follows {name} now, which can go to "
        f"{_listed(_within(golden))} alone. To have that version, end the following first:\n"
        f"  ingot golden rm {name} --keep-images {where}\n  ingot golden rollback {name} {one.name} {where}"
    )


def _within(golden: Golden) -> list[Kept]:
    return [one for one in golden.kept if golden.reaches(one)]


def _listed(versions: Sequence[Kept]) -> str:
    return ", ".join(dict.fromkeys(one.title for one in versions)) or "none"
