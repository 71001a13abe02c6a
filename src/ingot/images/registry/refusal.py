"""What a server said no to, and why."""

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.registry.response import Response

_MOST_BYTES = 1 << 16
_LONGEST = 300
_REASONS = {401: "Unauthorized", 403: "Denied", 404: "NotFound", 405: "Unsupported", 410: "NotFound", 413: "TooLarge"}
LOG_IN = "log in with `docker login` or `podman login`, or use --auth-file"
_WORDS = {
    401: f"its server does not know us: {LOG_IN}",
    403: "its server does not allow it",
    404: "it is not there",
    405: "its server is not set up to do that",
    410: "it is not there any more",
    413: "its server finds it too large",
}


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Errors(msgspec.Struct):
    errors: list[_Error] = []


def refusal(response: Response, words: str = "") -> ImageFault:
    """The fault to raise for an answer that is not what was asked for, told by `words` or by what its status means.
    Closes it."""
    status = response.status
    said = _said(response)
    words = words or _WORDS.get(status, f"its server answers {status}")
    return ImageFault(response.subject, _REASONS.get(status, "Refused"), f"{words} ({said})" if said else words)


def _said(response: Response) -> str:
    """The registry's own words."""
    try:
        errors = msgspec.json.decode(response.document(_MOST_BYTES), type=_Errors).errors
    except (ImageFault, msgspec.MsgspecError, RecursionError):
        return ""
    return "; ".join(f"{error.code}: {error.message}" if error.message else error.code for error in errors[:3])[
        :_LONGEST
    ]
