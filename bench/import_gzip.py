"""Promise 1 of images: a gzip layer with a qcow2 becomes a raw disk in a third of the time, with 0.4 of the CPU."""

from bench.importing import compare, world
from bench.report import Row


def run() -> list[Row]:
    with world() as made:
        ours, theirs = compare(made, made.gzip)
    return [
        Row("gzip layer → raw, time", "s", ours.wall, theirs.wall, 1 / 3),
        Row("gzip layer → raw, CPU", "s", ours.cpu, theirs.cpu, 0.4),
    ]
