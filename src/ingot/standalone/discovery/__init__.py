"""Discovery: what a client asks first."""

from ingot.standalone.discovery.documents import JSON, Answer, Discovery

__all__ = ["JSON", "Answer", "Discovery"]
