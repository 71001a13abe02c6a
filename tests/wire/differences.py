"""Where Ingot's own server answers differently on purpose, and why. `docs/wire.md` shows this list."""

from __future__ import annotations

# Case, as its recording is called, to the reason.
DIFFERENCES: dict[str, str] = {}
