"""Lengths of time as people type them: `30s`, `1m30s`, `2h`."""

import re
from collections.abc import Callable
from typing import Any

import click

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")


class Duration(click.ParamType[float]):
    """Seconds; a bare number is seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value).strip()
        if re.fullmatch(r"\d+(\.\d+)?", text):
            return float(text)
        if not re.fullmatch(f"(?:{_PART.pattern})+", text):
            self.fail(f'"{value}" is not a length of time, such as 30s, 5m or 1h30m', param, ctx)
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def timeout_option(default: str, help_text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        "--timeout", type=Duration(), default=default, show_default=True, metavar="TIME", help=help_text
    )
