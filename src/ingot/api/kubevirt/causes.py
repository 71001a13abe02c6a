"""Causes of a refusal in Kubernetes' words, for all rules of this group."""

from collections.abc import Iterable

from ingot.api.status import Cause


def invalid(field: str, value: object, why: str) -> Cause:
    shown = f'"{value}"' if isinstance(value, str) else str(value)
    return Cause(field, f"Invalid value: {shown}: {why}")


def required(field: str, why: str) -> Cause:
    return Cause(field, f"Required value: {why}", "FieldValueRequired")


def not_supported(field: str, value: object, accepted: Iterable[str]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in accepted)
    return Cause(field, f'Unsupported value: "{value}": supported values: {listed}', "FieldValueNotSupported")


def forbidden(field: str, why: str) -> Cause:
    return Cause(field, f"Forbidden: {why}", "FieldValueForbidden")
