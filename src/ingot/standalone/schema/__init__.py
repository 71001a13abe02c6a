"""Schemas of custom resources: what an object may hold, what it holds by default, and what is wrong with it."""

from ingot.standalone.schema.schema import Schema

__all__ = ["Schema"]
