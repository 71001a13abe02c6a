"""Sizes as people type them: bytes, or a Kubernetes quantity such as 10Gi or 500M."""

from typing import Any

import click


class Size(click.ParamType[int]):
    """Bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        # Loaded where one is given: most imports are over before that would have paid.
        from ingot.api.quantity import QuantityError, whole

        try:
            size = whole(value)
        except QuantityError:
            size = 0
        if size <= 0:
            self.fail(f'"{value}" is not a size, such as 10Gi, 500M or 1048576', param, ctx)
        return size
