"""Files of web servers that change while they are read, or whose servers only say so."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ingot.images.fault import ImageFault
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source

T = TypeVar("T")

log = logging.getLogger(__name__)


def despite_changes(source: Source, options: ImportOptions, work: Callable[[ImportOptions], T]) -> T:
    """What the work makes of the source. A file of a web server that changed meanwhile is read once more, in one
    answer: servers of one name may have ETags of their own, and some make a new one for each answer."""
    try:
        return work(options)
    except ImageFault as fault:
        if fault.reason != "Changed" or source.kind not in (Kind.HTTP, Kind.S3):
            raise
        log.warning("%s; it is read in one answer now", fault)
    return work(replace(options, one_answer=True))
