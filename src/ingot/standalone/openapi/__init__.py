"""OpenAPI v3: the documents from which kubectl explains, validates and merges."""

from ingot.standalone.openapi.documents import OpenApi

__all__ = ["OpenApi"]
