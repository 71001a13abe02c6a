"""Lists that come in pages: the token that leads from one to the next."""

import base64
import binascii
from dataclasses import dataclass

import msgspec

from ingot.api.status import ApiError, bad_request, expired
from ingot.standalone.objects import gojson

_VERSION = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Token:
    """Where the next page starts (the last key that was given) and at which revision the list is read."""

    revision: int
    namespace: str
    name: str

    def encode(self) -> str:
        raw = msgspec.json.encode({"v": _VERSION, "rv": self.revision, "start": f"{self.namespace}/{self.name}"})
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode(text: str) -> Token:
    """The token of a text that this server has given out; 400 for every other."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        fields = msgspec.json.decode(raw, type=_Fields)
    except msgspec.MsgspecError as error:
        raise _invalid(gojson.syntax_error(raw) or str(error)) from error
    except (binascii.Error, ValueError) as error:
        raise _invalid(str(error)) from error
    if fields.v != _VERSION:
        raise _invalid(f"server does not recognize this encoded version {fields.v}")
    if not fields.start:
        raise _invalid(f"encoded start key empty (version {_VERSION})")
    namespace, separator, name = fields.start.partition("/")
    if not separator or fields.rv < 1:
        raise _invalid("it was not given out by this server")
    return Token(fields.rv, namespace, name)


class _Fields(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def _invalid(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


def too_old() -> ApiError:
    """A continue token whose list can no longer be read as it was."""
    return expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
