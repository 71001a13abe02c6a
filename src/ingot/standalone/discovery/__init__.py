"""Discovery: what a client asks first."""

from ingot.standalone.discovery.documents import Answer, Discovery

__all__ = ["Answer", "Discovery"]
