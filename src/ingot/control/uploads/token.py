"""Upload tokens: signed words that one claim may be uploaded to, for a short time."""

import base64
import binascii
import hashlib
import hmac
import re

import msgspec

from ingot.api.object import Object, name_of, namespace_of, uid_of

# As long as CDI's are good.
LIFETIME_SECONDS = 300
# Names and uids are short; nobody looks at more.
MOST_CHARACTERS = 2048
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# So that the key can never be used for words of another kind.
_KIND = b"ingot upload token 1\n"


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """What a token says: the claim, by everything that tells it from others, and until when, in seconds since 1970."""

    namespace: str
    name: str
    uid: str
    expires: int


def issue(key: bytes, claim: Object, now: float) -> str:
    """A token for the claim."""
    grant = Grant(namespace_of(claim), name_of(claim), uid_of(claim), int(now) + LIFETIME_SECONDS)
    said = _encoded(msgspec.json.encode(grant))
    return f"{said}.{_signature(key, said)}"


def read(key: bytes, token: str, now: float) -> Grant | None:
    """What a token says that was issued with the key and is still good; None for all others, whatever is wrong."""
    if len(token) > MOST_CHARACTERS or not _SHAPE.fullmatch(token):
        return None
    said, _, signature = token.partition(".")
    # The text is compared and not what it stands for: some bytes have several texts.
    if not hmac.compare_digest(signature, _signature(key, said)):
        return None
    try:
        grant = msgspec.json.decode(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)), type=Grant)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error):
        return None
    return grant if now < grant.expires else None


def _signature(key: bytes, said: str) -> str:
    return _encoded(hmac.digest(key, _KIND + said.encode(), hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
