"""Servers of the image suite, started once; a test takes a repository of its own by `repository`."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from guest.servers.certificates import Certificates
from images.servers.registry import HTPASSWD, DockerRegistry
from images.servers.tokens import TokenServer
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands keep nothing in the user's cache, and find nothing there."""
    monkeypatch.setenv("INGOT_CACHE", str(tmp_path_factory.getbasetemp() / f"cache-{next(_numbers)}"))


def _started(server: DockerRegistry) -> Iterator[DockerRegistry]:
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


@pytest.fixture(scope="session")
def docker_registry() -> Iterator[DockerRegistry]:
    """A registry for everybody, without TLS."""
    yield from _started(DockerRegistry())


@pytest.fixture(scope="session")
def password_registry() -> Iterator[DockerRegistry]:
    """One for those who know servers.registry.USER and PASSWORD."""
    yield from _started(DockerRegistry(htpasswd=HTPASSWD))


@pytest.fixture(scope="session")
def certificates() -> Certificates:
    return Certificates()


@pytest.fixture(scope="session")
def tls_registry(certificates: Certificates) -> Iterator[DockerRegistry]:
    """One with TLS, by an authority that only `certificates` knows."""
    yield from _started(DockerRegistry(tls=certificates))


@pytest.fixture(scope="session")
def token_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tokens")) as server:
        yield server


@pytest.fixture(scope="session")
def token_registry(token_server: TokenServer) -> Iterator[DockerRegistry]:
    """One that wants tokens of `token_server`."""
    yield from _started(DockerRegistry(token=token_server.auth))


@pytest.fixture
def settings() -> Settings:
    """Settings without a user's files, and quick to give up."""
    return Settings(tries=3, backoff=0.01, patience=5.0)


@pytest.fixture
def registry(settings: Settings) -> Iterator[Registry]:
    """The client."""
    with Registry(settings) as client:
        yield client


@pytest.fixture
def repository(docker_registry: DockerRegistry) -> Callable[[], Reference]:
    """Makes the names of new repositories in `docker_registry`, with the tag `v1`."""
    return lambda: Reference.parse(f"{docker_registry.host}/test/{os.getpid()}/r{next(_numbers)}:v1")
