"""Scalars and free-form values that Kubernetes types share."""

from typing import Annotated, Any, TypeAlias

from ingot.api.machinery.field import Field

Int32: TypeAlias = Annotated[int, Field(format="int32")]

# Seconds since or moments in time, RFC 3339.
Time: TypeAlias = Annotated[str, Field(format="date-time")]

QUANTITY_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?$"
Quantity: TypeAlias = Annotated[int | str, Field(pattern=QUANTITY_PATTERN)]

IntOrString: TypeAlias = int | str

# As Go prints and reads a duration: 1h30m, 500ms.
DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"
Duration: TypeAlias = Annotated[str, Field(pattern=DURATION_PATTERN)]

# An object that passes through unchanged, such as a pod's affinity.
Raw: TypeAlias = Annotated[dict[str, Any], Field(preserve=True)]

# A whole Kubernetes object inside another one.
Embedded: TypeAlias = Annotated[dict[str, Any], Field(preserve=True, embedded=True)]

# DNS names as Kubernetes checks them.
LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
Label: TypeAlias = Annotated[str, Field(pattern=LABEL_PATTERN, max_length=63)]
Subdomain: TypeAlias = Annotated[str, Field(pattern=SUBDOMAIN_PATTERN, max_length=253)]
