"""Ingot's own image for a node under test, put together without a network of what this machine has.

`make ingot-image` builds the real one of Debian's packages. Here everything lies where it lies on this machine: the
interpreter of these tests, its standard library and packages, the program that a worker starts, the shared libraries
of all of these, and the tree as it is.
"""

from __future__ import annotations

import compileall
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

from kube.box import add, add_commands, archive

ROOT = Path(__file__).parents[2]
# As deploy/controllers.yaml has it.
IMAGE = "localhost/ingot/ingot:latest"
_PACKAGES = Path("/opt/ingot")
_STANDARD_LIBRARY = Path(sysconfig.get_path("stdlib"))
# What nobody misses in a container.
_LEFT_OUT = {"config-", "ensurepip", "idlelib", "lib2to3", "site-packages", "dist-packages", "test", "tkinter"}
# A launcher runs a shell.
_COMMANDS = ("cat", "mkfifo", "sh")
_ISAL = "libisal.so.2"
_QEMU = "qemu-nbd"
_RESOLVED = re.compile(r"(/\S+\.so\S*)(?: \(0x|$)", re.MULTILINE)


def why_not() -> str:
    """What is lacking for the image on this machine; "" when nothing is."""
    return "" if shutil.which(_QEMU) else f"no {_QEMU}: apt-get install qemu-utils"


def write(target: Path) -> None:
    """Makes the archive that `ctr images import` takes."""
    configuration = {
        "Env": ["PATH=/usr/bin:/bin"],
        "Entrypoint": [str(_interpreter()), "-I", "-c", f"import sys; sys.path.insert(0, {str(_PACKAGES)!r}); {_MAIN}"],
        "User": "107:107",
    }
    archive(target, [IMAGE], configuration, [_layer()])


_MAIN = "from ingot.cli.main import main; main()"


def _interpreter() -> Path:
    return Path(sys.executable).resolve()


def _layer() -> bytes:
    programs = [_interpreter(), Path(shutil.which(_QEMU) or "")]
    standard = dict(_standard_library())
    packages = dict(_packages())
    modules = [path for path in (*standard.values(), *packages.values()) if ".so" in path.suffixes]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as layer:
        for name, mode in (("tmp", 0o1777), ("data", 0o755), ("state", 0o755)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            layer.addfile(entry)
        add(layer, "etc/passwd", b"root:x:0:0:root:/root:/bin/false\nqemu:x:107:107:qemu:/tmp:/bin/false\n")
        add_commands(layer, _COMMANDS)
        for path in (*programs, *_libraries([*programs, *modules])):
            _put(layer, path, path)
        for place, path in (standard | packages).items():
            _put(layer, place, path)
    return content.getvalue()


def _put(layer: tarfile.TarFile, place: Path, path: Path) -> None:
    """A file as it is, but for its owner. Its time stays: by that Python knows whether it has been compiled."""
    content, found = path.read_bytes(), path.stat()
    entry = tarfile.TarInfo(str(place).lstrip("/"))
    entry.size, entry.mtime = len(content), int(found.st_mtime)
    entry.mode = 0o755 if found.st_mode & 0o100 else 0o644
    layer.addfile(entry, io.BytesIO(content))


def _standard_library() -> Iterator[tuple[Path, Path]]:
    for place, _, names in os.walk(_STANDARD_LIBRARY):
        inner = Path(place).relative_to(_STANDARD_LIBRARY).parts
        if inner and any(inner[0].startswith(each) for each in _LEFT_OUT):
            continue
        for name in names:
            if ".opt-" not in name and not name.endswith(".a"):
                yield Path(place, name), Path(place, name)


def _packages() -> Iterator[tuple[Path, Path]]:
    """Ingot, and the packages that it needs to run, compiled: in a container every start would do that anew."""
    tool = _image_packages()
    for found in tool.closure("ingot"):
        for file in tool.files(found):
            path = Path(file.locate())
            yield _PACKAGES / file, path
            if path.suffix == ".py" and (compiled := Path(cache_from_source(path))).exists():
                yield _PACKAGES / file.parent / compiled.parent.name / compiled.name, compiled
    source = ROOT / "src" / "ingot"
    compileall.compile_dir(source, quiet=1)
    for path in source.rglob("*"):
        if path.is_file():
            yield _PACKAGES / "ingot" / path.relative_to(source), path


def _image_packages() -> ModuleType:
    """tools/image_packages.py, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("image_packages", ROOT / "tools" / "image_packages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _libraries(files: Iterable[Path]) -> set[Path]:
    """The shared libraries of programs and modules, by the names under which they are looked for."""
    listed = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    isal = [Path(path) for path in re.findall(rf"{re.escape(_ISAL)} .*=> (\S+)", listed)]
    told = subprocess.run(["ldd", *files, *isal], capture_output=True, text=True).stdout
    found = {Path(path) for path in _RESOLVED.findall(told)}
    return {*isal, *(path for path in found if path.is_absolute() and path.exists())}
