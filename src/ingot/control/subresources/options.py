"""What the body of a request says: KubeVirt's StartOptions and their like."""

from typing import TypeVar

import msgspec

from ingot.api.status import ApiError, bad_request

# They are small; more is a mistake or worse.
MAX_BODY = 64 << 10


class Options(msgspec.Struct, rename="camel"):
    """What all of them have; `dry_run` is empty or ["All"]."""

    dry_run: list[str] | None = None

    @property
    def is_dry(self) -> bool:
        return self.dry_run == ["All"]


class StartOptions(Options):
    """`paused`: the guest's CPUs stand still until it is unpaused."""

    paused: bool = False


class StopOptions(Options):
    """`grace_period`: seconds that the guest has to shut down, in place of what its spec says."""

    grace_period: int | None = None


class RestartOptions(Options):
    """`grace_period_seconds`: 0 does not let the guest shut down; nothing else is possible."""

    grace_period_seconds: int | None = None


AnyOptions = TypeVar("AnyOptions", bound=Options)


def decode(body: bytes, kind: type[AnyOptions]) -> AnyOptions:
    """The options in a body, which may be empty. Raises 400 for what is none, 422 for an unknown dryRun."""
    try:
        options = msgspec.json.decode(body, type=kind) if body.strip() else kind()
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"Can not unmarshal Request body to struct, error: {error}") from error
    if options.dry_run not in (None, [], ["All"]):
        raise ApiError(422, "Invalid", f'dryRun: Invalid value: {options.dry_run}: only ["All"] is possible')
    return options
