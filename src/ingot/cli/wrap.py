"""Long words for a terminal: lines no longer than it is wide. Elsewhere nothing is broken, for it may be searched."""

import textwrap

# Narrower than this, text is a ladder: it goes below instead.
NARROWEST = 30


def hanging(head: str, text: str, width: int | None) -> list[str]:
    """The text after its head, and what does not fit below its beginning; `width` is None where all fits."""
    if width is None:
        return [f"{head}{text}"]
    return textwrap.wrap(
        text,
        max(width, len(head) + NARROWEST),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    ) or [head.rstrip()]
