"""Images as users build them: buildah with a Dockerfile, and storage of its own."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from pathlib import Path

from ingot.images.reference import Reference


class Builder:
    """Builds below `directory`, and pushes without TLS."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        storage = ["--root", directory / "root", "--runroot", directory / "run", "--storage-driver", "vfs"]
        self._command = ["buildah", *map(str, storage)]

    @staticmethod
    def why_not() -> str:
        return "" if shutil.which("buildah") else "no buildah: apt-get install buildah"

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
        self._run("bud", "-q", "--layers", *unique, "--isolation", "chroot", *options, "-t", tag, str(context))
        shutil.rmtree(context)

    def push(self, tag: str, reference: Reference, *options: str) -> None:
        self._run("push", "-q", "--tls-verify=false", *options, tag, f"docker://{reference}")

    def _run(self, *arguments: str) -> None:
        done = subprocess.run([*self._command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
