"""Exports that come over a network: images in registries, files behind URLs."""

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit
from weakref import WeakSet

from ingot.images.fault import ImageFault
from ingot.images.lazy.memory import SharedMemory
from ingot.images.lazy.pace import Pace
from ingot.serve.entry import Entry
from ingot.serve.export import ContentExport
from ingot.serve.kept import Allowance, KeptContent

if TYPE_CHECKING:
    from ingot.images.cache import Cache
    from ingot.images.lazy.ahead import Ahead
    from ingot.images.lazy.local_disks import LocalDisks
    from ingot.images.registry.client import Registry
    from ingot.images.registry.settings import Settings

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AfarOptions:
    """`cache`: where what was fetched is kept, `limit` bytes of registries and as many of URLs at most; None for as
    many as Cache has without being told. `auth_file`, `ca` and `insecure` are said over what the files of registries
    say. `hydrate`: whether images are fetched whole in the background, at `rate` bytes a second for all of them
    together, 0 for as fast as it goes."""

    cache: str
    limit: int | None
    auth_file: str = ""
    ca: str = ""
    insecure: tuple[str, ...] = ()
    hydrate: bool = False
    rate: int = 0

    def record(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        return cls(**{**record, "insecure": tuple(record["insecure"])})


class Afar:
    """Opens them, with one client, one cache and one memory for all. Used by several threads.

    Nothing is fetched ahead of readers until `lead`: one process of a server does so for all, which find it in the
    cache.
    """

    def __init__(self, options: AfarOptions, processes: int = 1) -> None:
        """`processes`: with how many the limit is shared where each keeps its own."""
        self._options = options
        self._processes = processes
        self._pace = Pace(options.rate)
        self._lock = threading.Lock()
        self._made: tuple[Registry, Cache, Allowance] | None = None
        self._disks: LocalDisks | None = None
        self._memory = SharedMemory()
        self._leads = False
        self._ahead: WeakSet[Ahead] = WeakSet()

    def lead(self) -> None:
        """From now on it fetches images ahead of their readers, for other processes of the same server as well."""
        with self._lock:
            self._leads = True
            waiting = list(self._ahead)
        for ahead in waiting:
            ahead.begin()

    def image(self, reference: str, entry: Entry, progress: Progress) -> ContentExport:
        """An image in a registry; one that was not made for it is fetched whole first. Raises ImageFault."""
        from ingot.images.lazy.open import LazyOptions, open_lazy
        from ingot.images.reference import Reference
        from ingot.images.registry.platform import parse_platform

        registry, cache, _ = self._client()
        options = LazyOptions(
            begin=False,
            hydrate=self._options.hydrate,
            pace=self._pace,
            decode=not entry.plain,
            disks=self._local_disks(cache),
            memory=self._memory,
        )
        wanted = parse_platform(entry.platform) if entry.platform else None
        disk = open_lazy(registry, Reference.parse(reference), cache, options, platform=wanted, progress=progress)
        with self._lock:
            self._ahead.add(disk.ahead)
            leads = self._leads
        if leads:
            disk.ahead.begin()
        return ContentExport(disk, slow=True, fetched=lambda: disk.chunks.figures.moved, near=disk.near)

    def file(self, url: str, plain: bool) -> ContentExport:
        """A file behind a URL. Raises ImageFault and OSError."""
        from ingot.images.blob import BlobContent
        from ingot.images.disk import open_disk
        from ingot.images.registry.address import public
        from ingot.images.url import open_url

        if urlsplit(url).username is not None:
            raise ImageFault(public(url), "Credentials", "no credentials may be in a URL that is served")
        registry, cache, allowance = self._client()
        kept = KeptContent(BlobContent(open_url(registry.transport, url)), cache.directory, allowance)
        content = open_disk(kept, "raw" if plain else None, subject=public(url))
        return ContentExport(content, slow=True, fetched=lambda: kept.fetched)

    def _local_disks(self, cache: "Cache") -> "LocalDisks":
        from ingot.images.lazy.local_disks import LocalDisks

        with self._lock:
            if self._disks is None:
                self._disks = LocalDisks(cache.directory)
        self._disks.renew()
        return self._disks

    def _client(self) -> "tuple[Registry, Cache, Allowance]":
        from ingot.images.cache import Cache
        from ingot.images.registry.client import Registry

        with self._lock:
            if self._made is None:
                cache = Cache(Path(self._options.cache), self._options.limit)
                self._made = Registry(self._settings()), cache, Allowance(cache.limit // self._processes)
            return self._made

    def _settings(self) -> "Settings":
        from ingot.images.registry.settings import Settings

        loaded = Settings.load()
        return replace(
            loaded,
            auth_files=(Path(self._options.auth_file),) if self._options.auth_file else loaded.auth_files,
            ca=Path(self._options.ca) if self._options.ca else loaded.ca,
            insecure=loaded.insecure | frozenset(self._options.insecure),
        )
