"""Images behind http:// and https://."""

import base64
import hashlib
from contextlib import ExitStack
from urllib.parse import unquote, urlsplit

from ingot.images.blob import BlobContent
from ingot.images.disk import format_of, open_disk
from ingot.images.http_blob import HttpBlob
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.material import SEEKABLE, Material, of_stream, wanted_digest
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.registry.address import public
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.url import open_url


def open_web(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """In any order and over several connections where the server has ranges, and says of which version they are, and we
    can decode the disk that way, and there is no digest of the whole to be checked; else from front to back. Raises
    ImageFault."""
    transport = Transport(options.settings or Settings.load())
    stack.callback(transport.close)
    url, authorization = _credentials(source.place)
    blob = open_url(transport, url, options.authorization or authorization)
    identity = _identity(url, blob)
    digest = wanted_digest(options)
    meter = Meter(options.rate)
    file = BlobContent(MeteredBlob(blob, meter)) if digest is None and blob.ranged else None
    if file is None or (format := format_of(file)) not in SEEKABLE:
        return of_stream(blob, identity, options, bounds, digest=digest)
    content = open_disk(file, format, subject=str(source), limit=bounds.most)
    stack.callback(content.close)
    return Material(str(source), identity, meter, content=content)


def _identity(url: str, blob: HttpBlob) -> str:
    """Shown to people, so that what may be secret in the address is in a digest only."""
    if not blob.validator:
        return ""
    return f"{public(url)}:{hashlib.sha256(url.encode()).hexdigest()[:16]}:{blob.size}:{blob.validator}"


def _credentials(url: str) -> tuple[str, str]:
    """A URL without its user, and what to send as Authorization instead."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, ""
    name, _, password = user.partition(":")
    secret = f"{unquote(name)}:{unquote(password)}".encode()
    return parts._replace(netloc=host).geturl(), f"Basic {base64.b64encode(secret).decode()}"
