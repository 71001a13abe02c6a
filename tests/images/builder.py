"""Images as users build them: buildah or podman with a Dockerfile, and storage of its own."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from ingot.images.reference import Reference


class Builder:
    """Builds below `directory` with `tool`, and pushes without TLS."""

    def __init__(self, directory: Path, tool: str = "buildah") -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        # podman takes no path of more than 50 letters there. It goes with this object.
        self._state = tempfile.TemporaryDirectory(prefix="ingot-")
        storage = ["--root", directory / "root", "--runroot", self._state.name, "--storage-driver", "vfs"]
        # Of machines without systemd; buildah asks nobody for it.
        cgroups = ["--cgroup-manager", "cgroupfs"] if tool == "podman" else []
        self._command = [tool, *map(str, storage), *cgroups]

    @staticmethod
    def why_not(tool: str = "buildah") -> str:
        return "" if shutil.which(tool) else f"no {tool}: apt-get install {tool}"

    def context(self, name: str, dockerfile: str, files: dict[str, Path | bytes]) -> Path:
        """A directory to build from."""
        context = self.directory / name
        context.mkdir()
        (context / "Dockerfile").write_text(dockerfile)
        for file, source in files.items():
            if isinstance(source, bytes):
                (context / file).write_bytes(source)
            else:
                shutil.copyfile(source, context / file)
        return context

    def build(self, tag: str, dockerfile: str, files: dict[str, Path | bytes], *options: str) -> None:
        """Builds the image `tag`, as docker build does: a layer for each line."""
        context = self.context(tag.replace("/", "-"), dockerfile, files)
        # Times of their own make layers that buildah has never pushed: else it would take those of another form.
        unique = ["--no-cache", "--timestamp", str(secrets.randbelow(1 << 31))]
        self._run("build", "-q", "--layers", *unique, "--isolation", "chroot", *options, "-t", tag, str(context))
        shutil.rmtree(context)

    def push(self, tag: str, reference: Reference, *options: str) -> None:
        self._run("push", "-q", "--tls-verify=false", *options, tag, f"docker://{reference}")

    def _run(self, *arguments: str) -> None:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
