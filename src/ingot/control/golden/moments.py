"""Times in annotations, which anybody may have written."""

from datetime import UTC, datetime

# How far clocks of two machines may be apart, or one from itself that was put back.
_SLACK_SECONDS = 3600.0


def moment(text: str) -> float | None:
    """Seconds since 1970; None for what is no time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def past(text: str, now: float) -> float | None:
    """The same of something that has happened: None also before 1970, where Go's zero time lies, and for what lies
    further ahead than clocks differ."""
    found = moment(text)
    return found if found is not None and 0.0 <= found <= now + _SLACK_SECONDS else None
