"""Tables: how kubectl shows objects, made by the server that knows what matters of each kind."""

from ingot.standalone.table.render import render

__all__ = ["render"]
