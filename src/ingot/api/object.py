"""Kubernetes objects as they travel: plain JSON dictionaries, and the few things every part asks of one."""

from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]


def name_of(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("name", ""))


def namespace_of(obj: Object) -> str:
    """The namespace, or "" for an object of the whole cluster."""
    return str(obj.get("metadata", {}).get("namespace", ""))


def uid_of(obj: Object) -> str:
    return str(obj.get("metadata", {}).get("uid", ""))


def split_api_version(api_version: str) -> tuple[str, str]:
    """("apps", "v1") for "apps/v1"; ("", "v1") for "v1"."""
    group, _, version = api_version.rpartition("/")
    return group, version


def join_api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version
