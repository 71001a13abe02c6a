"""Where a worker has its content from: the options that say so, and what an import makes of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ingot.images.pipeline.options import ImportOptions
    from ingot.images.pipeline.source import Source
    from ingot.images.registry.settings import Settings

KINDS = ("http", "registry", "nbd", "s3", "blank", "gcs", "imageio", "vddk")
_FOREIGN = ("gcs", "imageio", "vddk")
# An address may hold a password or a signature: all users of a machine see the arguments of its processes.
URL = "INGOT_SOURCE_URL"
_DIRECTORY = click.Path(file_okay=False, path_type=Path)
_PLACE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Origin:
    """The source as a volume's spec names it. Secrets are in the files of the directories `secret` and `header_files`;
    `certs` is a directory of authorities, of the ConfigMap `certs_name`. `repr` shows no address."""

    kind: str
    url: str = field(repr=False)
    checksum: str
    architecture: str
    secret: Path | None
    certs: Path | None
    certs_name: str
    header_files: tuple[Path, ...]
    insecure: bool

    def source(self, size: int) -> "Source":
        """What to import; `size` is for a blank disk. Raises ImageFault for what cannot be."""
        from ingot.images.fault import ImageFault
        from ingot.images.pipeline.source import Kind, Source
        from ingot.images.registry.address import public

        if self.kind in _FOREIGN:
            message = f"{self.kind} is not fetched by Ingot: export the disk to a web server, S3 or a registry"
            raise ImageFault(f"the source {self.kind}", "Unsupported", message)
        if self.kind == "blank":
            return Source(Kind.BLANK, str(size))
        if self.kind == "s3":
            return Source(Kind.S3, self.url)
        if self.url.startswith("oci-archive:"):
            message = "an archive of the node is not in reach of a pod: push it to a registry, and name that"
            raise ImageFault(public(self.url), "Unsupported", message)
        if not self.url:
            message = "it has no url, which is what it is fetched by; an imageStream is not known here"
            raise ImageFault(f"the source {self.kind}", "BadSource", message)
        source = Source.parse(self.url)
        if source.kind != self.kind or "+unix://" in source.place:
            # A socket of the node is not in reach of its users.
            raise ImageFault(str(source), "BadSource", f"this is no address of the source {self.kind}")
        return source

    def options(self, source: "Source", **wishes: Any) -> "ImportOptions":
        """How it is imported, with the other `wishes`. Raises ImageFault for secrets that are not as they should be."""
        from ingot.cli.worker import secrets
        from ingot.images.pipeline.options import ImportOptions

        found: dict[str, Any] = {"checksum": self.checksum, "settings": self._settings(source), **wishes}
        if self.kind == "registry" and self.architecture:
            from ingot.images.registry.platform import parse_platform

            found["platform"] = parse_platform(f"linux/{self.architecture}")
        if self.kind == "http":
            found["headers"] = secrets.headers(self.header_files)
        if self.kind == "http" and self.secret:
            found["authorization"] = secrets.login(self.secret).basic
        elif self.kind == "s3" and self.secret:
            found["keys"] = secrets.keys(self.secret)
        elif self.kind == "nbd" and (self.secret or self.certs):
            found["tls"] = secrets.tls(self.secret, self.certs)
        return ImportOptions(**found)

    def _settings(self, source: "Source") -> "Settings":
        """Mirrors and hosts without TLS are the machine's own; credentials of its users are nobody else's."""
        from dataclasses import replace

        from ingot.cli.worker import secrets
        from ingot.images.authorities import mounted
        from ingot.images.registry.settings import Settings

        settings = replace(Settings.load(), auth_files=(), verify=not self.insecure)
        if self.certs is not None:
            settings = replace(settings, ca=None, authorities=mounted(self.certs_name, self.certs))
        if self.kind != "registry":
            return settings
        from ingot.images.reference import Reference

        registry = Reference.parse(source.place).registry
        if self.insecure:
            settings = replace(settings, insecure=settings.insecure | {registry})
        if self.secret is not None and (self.secret / secrets.PULL_SECRET).exists():
            return replace(settings, auth_files=(self.secret / secrets.PULL_SECRET,))
        return replace(settings, logins={registry: secrets.login(self.secret)}) if self.secret else settings


def origin_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options, given to the command as `origin`."""

    @click.option("--source-kind", "kind", type=click.Choice(KINDS), required=True)
    @click.option("--url", default="", envvar=URL, show_envvar=True, metavar="URL", help="The address of the source.")
    @click.option("--checksum", default="", metavar="DIGEST", help="What the file must have, such as sha256:HEX.")
    @click.option("--architecture", default="", metavar="ARCH", help="Which image of several, such as arm64.")
    @click.option("--secret", type=_DIRECTORY, help="A mounted Secret with the credentials.")
    @click.option("--certs", type=_DIRECTORY, help="A mounted ConfigMap with authorities to trust.")
    @click.option("--certs-name", default="", metavar="NAME", help="What that ConfigMap is called.")
    @click.option("--header-file", "header_files", multiple=True, type=_PLACE, help="Headers, or a directory of them.")
    @click.option("--insecure", is_flag=True, help="Do not verify who the server is.")
    @wraps(command)
    def with_origin(
        *,
        kind: str,
        url: str,
        checksum: str,
        architecture: str,
        secret: Path | None,
        certs: Path | None,
        certs_name: str,
        header_files: tuple[Path, ...],
        insecure: bool,
        **others: Any,
    ) -> None:
        origin = Origin(kind, url, checksum, architecture, secret, certs, certs_name, header_files, insecure)
        command(origin=origin, **others)

    return with_origin
