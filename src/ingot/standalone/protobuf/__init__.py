"""Objects of Kubernetes as protobuf, which Go's typed clients send. Answers are JSON, which they take as well."""

from ingot.standalone.protobuf.envelope import MEDIA, decode

__all__ = ["MEDIA", "decode"]
