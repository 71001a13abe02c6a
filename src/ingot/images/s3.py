"""Objects in S3: their addresses, and requests that are signed with a key (AWS Signature Version 4).

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ingot.images.fault import ImageFault
from ingot.images.registry.address import netloc, public, split

_AMAZON = "s3.amazonaws.com"
_REGION = re.compile(r"(?:.+\.)?s3[.-](?:dualstack\.)?([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?")
# Of servers that know no regions, and of Amazon's oldest.
_DEFAULT_REGION = "us-east-1"
_NO_BODY = hashlib.sha256(b"").hexdigest()
_SIGNED = "host;x-amz-content-sha256;x-amz-date"
_UNRESERVED = "-_.~"
_FORMS = "s3://BUCKET/KEY, s3://HOST:PORT/BUCKET/KEY or http(s)://HOST/BUCKET/KEY"


@dataclass(frozen=True, slots=True)
class Keys:
    """Who we are to the server."""

    access: str
    secret: str = field(repr=False)


def object_url(text: str) -> str:
    """Where an object is asked for, by what people call it. Raises ImageFault."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _bad(text, str(error)) from None
    path = parts.path.lstrip("/")
    if parts.username is not None:
        raise _bad(text, "keys do not belong into an address: put them into a Secret")
    if parts.scheme not in ("s3", "http", "https") or not parts.hostname:
        raise _bad(text, f"{parts.scheme or 'no scheme'} is not accepted")
    scheme, host = parts.scheme, parts.netloc
    if scheme == "s3":
        scheme = "https"
        if port is None and not parts.hostname.endswith(".amazonaws.com"):
            # A bucket's name has no port.
            host, path = _AMAZON, f"{parts.netloc}/{path}"
    # The server signs what it has decoded and encoded again: there is one way to do that.
    path = quote(unquote(path), safe=f"/{_UNRESERVED}")
    if not all(path.partition("/")[::2]):
        raise _bad(text, "it names no object in a bucket")
    query = f"?{parts.query}" if parts.query else ""
    return f"{scheme}://{host}/{path}{query}"


def signed(keys: Keys, url: str, now: datetime | None = None) -> dict[str, str]:
    """The headers of a GET of this address, of an `object_url`, with any others beside them; good for some minutes."""
    origin, _ = split(url, public(url))
    parts = urlsplit(url)
    time = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{time[:8]}/{region(origin.host)}/s3/aws4_request"
    headers = f"host:{netloc(origin)}\nx-amz-content-sha256:{_NO_BODY}\nx-amz-date:{time}\n"
    asked = "\n".join(("GET", parts.path, _query(parts.query), headers, _SIGNED, _NO_BODY))
    text = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(asked.encode()).hexdigest()))
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"AWS4-HMAC-SHA256 Credential={keys.access}/{scope}"
    authorization = f"{credential},SignedHeaders={_SIGNED},Signature={signature}"
    return {"Authorization": authorization, "x-amz-content-sha256": _NO_BODY, "x-amz-date": time}


def region(host: str) -> str:
    """What a host of Amazon's says of where it is."""
    found = _REGION.fullmatch(host)
    return found[1] if found else _DEFAULT_REGION


def refused(fault: ImageFault, url: str, keys: Keys | None) -> ImageFault:
    """The same, with what can be done about it."""
    host = urlsplit(url).hostname or ""
    message = fault.message
    if fault.reason in ("Denied", "Unauthorized"):
        cure = "see that its accessKeyId and secretKey may read it" if keys else "name a Secret with keys in secretRef"
        message = f"its server does not allow it: {cure}"
    elif fault.reason in ("BadRedirect", "Refused") and region(host) == _DEFAULT_REGION and host.endswith(_AMAZON):
        message = f"{message}; name its bucket's region: https://s3.REGION.amazonaws.com/BUCKET/KEY"
    return ImageFault(fault.subject, fault.reason, message, fault.retry)


def _query(query: str) -> str:
    pairs = sorted(parse_qsl(query, keep_blank_values=True))
    return "&".join(f"{quote(name, safe=_UNRESERVED)}={quote(value, safe=_UNRESERVED)}" for name, value in pairs)


def _bad(text: str, why: str) -> ImageFault:
    return ImageFault(public(text), "BadAddress", f"{why}; write {_FORMS}")
