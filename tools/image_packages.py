"""Copies ingot, and the packages that it needs to run, from this environment to a directory: for tools/image.sh.

They are those of requirements.lock, which the environment was made from; so nothing is downloaded.
"""

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackagePath, distribution
from pathlib import Path

from packaging.requirements import Requirement

SOURCE = Path(__file__).parent.parent / "src" / "ingot"


def main(target: Path) -> None:
    for found in closure("ingot"):
        copy(found, target)
    shutil.copytree(SOURCE, target / "ingot", ignore=shutil.ignore_patterns("__pycache__"))


def closure(name: str) -> Iterator[Distribution]:
    """A distribution and all that it requires here, without extras."""
    seen: set[str] = set()
    wanted = [name]
    while wanted:
        each = wanted.pop().lower().replace("_", "-")
        if each in seen:
            continue
        seen.add(each)
        found = distribution(each)
        yield found
        requirements = [Requirement(text) for text in found.requires or []]
        wanted += [item.name for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})]


def files(found: Distribution) -> Iterator[PackagePath]:
    """The distribution's modules and metadata; neither its programs nor what points back to this environment."""
    for file in found.files or []:
        if file.parts[0] not in ("..", "/") and file.suffix not in (".pyc", ".pth") and file.name != "direct_url.json":
            yield file


def copy(found: Distribution, target: Path) -> None:
    for file in files(found):
        place = target / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.locate(), place)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
