"""Certificates of the installation itself: when each expires (G9)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ingot.control.monitoring.expiry import of_file
from ingot.control.monitoring.family import Family, gauge
from ingot.serve.exposition import KIND, exposed
from ingot.serve.page import shown


def certificate_families(files: Mapping[str, Path]) -> Iterator[Family]:
    """Of files by the names that figures have of them. One that is not there, or holds no certificate, has none."""
    found = (((name,), moment) for name, path in sorted(files.items()) if (moment := of_file(path)) is not None)
    doc = "When a certificate of the installation expires"
    yield gauge("ingot_certificate_expiry_timestamp_seconds", doc, ("certificate",), found)


def shown_certificates(files: Mapping[str, Path], host: str, port: int) -> AbstractAsyncContextManager[int]:
    """The page of a process that has no other figures; its port. Raises ImageFault where it cannot be shown."""
    return shown(lambda: exposed(certificate_families(files)), KIND, host, port)


def files_of(directory: Path) -> Callable[[], dict[str, Path]]:
    """The certificates in a directory, as they are when it is asked for."""
    return lambda: {path.stem: path for path in directory.glob("*.pem")}
