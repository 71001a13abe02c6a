"""Images behind http:// and https://, and in S3."""

import base64
import hashlib
from contextlib import ExitStack
from functools import partial
from urllib.parse import unquote, urlsplit

from ingot.images.blob import BlobContent
from ingot.images.disk import format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.http_blob import HttpBlob
from ingot.images.lengthless_blob import LengthlessBlob
from ingot.images.pipeline.bounds import Bounds
from ingot.images.pipeline.material import SEEKABLE, Material, of_stream, wanted_digest
from ingot.images.pipeline.metered import Meter, MeteredBlob
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source
from ingot.images.registry.address import public
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.url import open_url

WebBlob = HttpBlob | LengthlessBlob


def open_web(source: Source, options: ImportOptions, bounds: Bounds, stack: ExitStack) -> Material:
    """In any order and over several connections where the server has ranges, and says of which version they are, and we
    can decode the disk that way, and there is no digest of the whole to be checked; else from front to back. Raises
    ImageFault."""
    blob, identity = open_file(source, options, stack)
    digest = wanted_digest(options)
    meter = Meter(options.rate)
    file = BlobContent(MeteredBlob(blob, meter)) if digest is None and blob.ranged else None
    if file is None or (format := format_of(file)) not in SEEKABLE:
        return of_stream(blob, identity, options, bounds, digest=digest)
    content = open_disk(file, format, subject=str(source), limit=bounds.most)
    stack.callback(content.close)
    return Material(str(source), identity, meter, content=content, format=format)


def open_file(source: Source, options: ImportOptions, stack: ExitStack) -> tuple[WebBlob, str]:
    """The file itself, and what is the same for the same bytes only, or empty. Raises ImageFault."""
    transport = Transport(options.settings or Settings.load())
    stack.callback(transport.close)
    if source.kind is Kind.S3:
        url, blob = _open_object(transport, source.place, options)
    else:
        url, authorization = _credentials(source.place)
        # Whoever reads all of it checks the digest, and nobody else takes it for whole.
        proven = wanted_digest(options) is not None
        authorization = options.authorization or authorization
        one = options.one_answer
        blob = open_url(transport, url, authorization, lambda: options.headers, proven=proven, one_answer=one)
    return blob, _identity(url, blob)


def _open_object(transport: Transport, place: str, options: ImportOptions) -> tuple[str, WebBlob]:
    """An object of S3 is a file whose requests are signed, where there are keys."""
    from ingot.images.s3 import object_url, refused, signed

    url, keys = object_url(place), options.keys
    try:
        private = partial(signed, keys, url) if keys else dict
        return url, open_url(transport, url, private=private, one_answer=options.one_answer)
    except ImageFault as fault:
        raise refused(fault, url, keys) from None


def _identity(url: str, blob: WebBlob) -> str:
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
