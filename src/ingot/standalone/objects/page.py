"""Lists that come in pages: the token that leads from one to the next."""

import base64
import binascii
from dataclasses import dataclass

import msgspec

from ingot.api.status import ApiError, bad_request, expired


@dataclass(frozen=True, slots=True)
class Token:
    """Where the next page starts (the last key that was given) and at which revision the list is read."""

    revision: int
    namespace: str
    name: str

    def encode(self) -> str:
        raw = msgspec.json.encode(
            {"v": "meta.k8s.io/v1", "rv": self.revision, "start": f"{self.namespace}/{self.name}"}
        )
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode(text: str) -> Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        fields = msgspec.json.decode(raw, type=dict[str, str | int])
        namespace, separator, name = str(fields["start"]).partition("/")
        revision = fields["rv"]
        if fields["v"] != "meta.k8s.io/v1" or not separator or not isinstance(revision, int) or revision < 1:
            raise ValueError(text)
        return Token(revision, namespace, name)
    except (binascii.Error, msgspec.MsgspecError, KeyError, ValueError) as error:
        raise bad_request("continue key is not valid: it was not given out by this server") from error


def too_old() -> ApiError:
    """A continue token whose list can no longer be read as it was."""
    return expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
