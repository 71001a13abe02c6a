"""Promise 2 of images: what Ingot has pushed becomes a raw disk in a quarter of the time of the usual tools."""

from bench.importing import compare, world
from bench.report import Row
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings


def run() -> list[Row]:
    with world() as made:
        reference = Reference.parse(f"{made.registry}/bench/debian:own")
        disk = open_disk(made.disk)
        try:
            with Registry(Settings()) as registry:
                push_disk(registry, disk, reference, PushOptions())
        finally:
            disk.close()
        ours, theirs = compare(made, str(reference))
    return [
        Row("pushed by ingot → raw, time", "s", ours.wall, theirs.wall, 1 / 4),
        Row("pushed by ingot → raw, CPU", "s", ours.cpu, theirs.cpu, None),
    ]
