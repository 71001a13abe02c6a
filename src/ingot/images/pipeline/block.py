"""Disks behind NBD servers."""

from contextlib import ExitStack

from ingot.images.fault import ImageFault
from ingot.images.nbd.address import Address
from ingot.images.nbd.client import NbdContent
from ingot.images.pipeline.material import Material
from ingot.images.pipeline.metered import Meter, MeteredContent
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source


def open_nbd(source: Source, options: ImportOptions, stack: ExitStack) -> Material:
    """An export is a disk, whatever its first bytes look like: a guest may have written them. Nothing tells one
    version of it from the next, so an import begins anew each time. Raises ImageFault."""
    if options.checksum:
        raise ImageFault(str(source), "BadChecksum", "an NBD export has no digest of its own: leave the checksum out")
    content = stack.enter_context(NbdContent(Address.parse(source.place, options.tls)))
    meter = Meter(options.rate)
    return Material(str(source), "", meter, content=MeteredContent(content, str(source), meter), format="raw")
