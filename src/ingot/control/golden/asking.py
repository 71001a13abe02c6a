"""Sources of crons, asked for their newest version from here, with what the cron's Secrets and ConfigMaps say."""

import asyncio
import base64
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.control.golden.silence import Server, Silence
from ingot.control.golden.standing import IMPORT_FAILED, UP_TO_DATE
from ingot.control.volumes.marks import annotation
from ingot.control.writing import live
from ingot.images.authorities import of_config_map
from ingot.images.fault import ImageFault
from ingot.images.headers import parse_headers
from ingot.images.reference import Reference
from ingot.images.registry import credentials
from ingot.images.registry.address import netloc, public, split
from ingot.images.registry.auth import Challenges
from ingot.images.registry.client import Registry
from ingot.images.registry.credentials import Credentials
from ingot.images.registry.recent import Recent
from ingot.images.registry.settings import Settings
from ingot.images.watching.file import Visitor, newest_file
from ingot.images.watching.image import newest_image
from ingot.images.watching.version import Version
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.objects import condition

log = logging.getLogger(__name__)

# How many sources are asked at once, how long one may take to begin its answer, and how many bytes a second are to
# follow: answers are small, and who sends them in drops keeps others waiting.
ASKED_AT_ONCE = 16
_SECONDS, _SLOWEST = 10.0, 16 << 10
_IDLE = 8
# Connections, and the passes of registries, are kept for so many different ways to ask.
_KEPT = 64
# CDI's names for what a Secret holds.
_USER, _PASSWORD = "accessKeyId", "secretKey"
_PULL_SECRET = ".dockerconfigjson"  # noqa: S105


@dataclass(frozen=True, slots=True)
class _Way:
    """How a source is asked: what its Secrets and ConfigMap hold, by key. Nothing of it is ever said."""

    given: Object
    secret: dict[str, bytes]
    authorities: dict[str, bytes]
    headers: dict[str, str]


class Asker:
    """Asks in threads, with one request where nothing has changed, and one for a pass where the registry gives passes.
    Secrets are kept in memory, and nowhere else; connections for a minute, and a few for each way to ask."""

    def __init__(
        self, client: Client, clock: Clock = SYSTEM, insecure: Callable[[], frozenset[str]] = frozenset
    ) -> None:
        """`insecure`: the hosts of registries that need not prove who they are, nor speak TLS."""
        self._client = client
        self._insecure = insecure
        self._silence = Silence(clock)
        self._threads = ThreadPoolExecutor(ASKED_AT_ONCE, "asking")
        self._registries: OrderedDict[str, Registry] = OrderedDict()
        self._challenges: Recent[str, Challenges] = Recent(_KEPT)

    async def newest(self, cron: Object) -> Version:
        """The newest version of the cron's source. Raises ImageFault."""
        source = cron["spec"]["template"]["spec"]["source"]
        kind = "registry" if "registry" in source else "http"
        given = source[kind]
        server = Server(namespace_of(cron), kind, *_place(kind, given["url"]))
        self._silence.check(cron, server)
        way = await self._way(given, namespace_of(cron))
        try:
            found = await self._ask(kind, cron, way)
        except ImageFault as fault:
            self._silence.noted(server, fault)
            raise
        finally:
            for each in self._registries.values():
                each.tidy()
        self._silence.heard(server)
        return found

    async def _ask(self, kind: str, cron: Object, way: _Way) -> Version:
        """The answer, whatever a server may do to us. Raises ImageFault."""
        ask = _ask_registry if kind == "registry" else _ask_web
        try:
            registry = self._registry(kind, way)
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask, registry, cron, way)
        except ImageFault:
            raise
        except Exception as error:
            subject, what = public(way.given["url"]), type(error).__name__
            log.exception("%s of %s/%s cannot be asked", subject, namespace_of(cron), name_of(cron))
            message = f"asking it failed in a way that Ingot does not know ({what}): see the log of the controllers"
            raise ImageFault(subject, "Unexpected", message) from error

    async def _way(self, given: Object, namespace: str) -> _Way:
        secret = await self._data(SECRETS, given.get("secretRef"), namespace)
        authorities = await self._data(CONFIG_MAPS, given.get("certConfigMap"), namespace)
        lines = [(line, "extraHeaders") for line in given.get("extraHeaders") or ()]
        for name in given.get("secretExtraHeaders") or ():
            found = await self._data(SECRETS, name, namespace)
            lines += [(line, name) for value in found.values() for line in _text(value, name).splitlines() if line]
        return _Way(given, secret, authorities, parse_headers(lines))

    async def _data(self, resource: Resource, name: str | None, namespace: str) -> dict[str, bytes]:
        if not name:
            return {}
        found = await live(self._client, resource, name, namespace)
        if found is None:
            raise ImageFault(f'{resource.kind} "{name}"', "NotFound", f'it is not in namespace "{namespace}": make it')
        if resource == CONFIG_MAPS:
            return {key: text.encode() for key, text in (found.get("data") or {}).items()}
        try:
            return {key: base64.b64decode(text) for key, text in (found.get("data") or {}).items()}
        except ValueError:
            raise ImageFault(f'{resource.kind} "{name}"', "BadSecret", "its data is no base64") from None

    def _registry(self, kind: str, way: _Way) -> Registry:
        """The client for that way to ask: always the same, so that connections and passes last. Raises ImageFault."""
        settings = _settings(kind, way, self._insecure())
        secrets = [way.secret, way.authorities] if kind == "registry" else [way.authorities]
        key = _digest(settings, secrets)
        if key not in self._registries:
            # Thousands of namespaces may have a Secret each: what a registry wants of all of them is asked for once.
            trust = _digest(replace(settings, logins={}), [way.authorities])
            self._registries[key] = Registry(settings, self._challenges.made(trust, Challenges))
        self._registries.move_to_end(key)
        if len(self._registries) > _KEPT:
            self._registries.popitem(last=False)[1].close()
        return self._registries[key]


def _digest(settings: Settings, secrets: list[dict[str, bytes]]) -> str:
    return hashlib.sha256(repr((settings, secrets)).encode()).hexdigest()


def _place(kind: str, url: str) -> tuple[str, str]:
    """Who is asked, and for what. Raises ImageFault for what is no address."""
    if kind == "registry":
        reference = Reference.parse(url)
        return reference.registry, reference.repository
    origin, path = split(url, public(url))
    return netloc(origin), path


def _settings(kind: str, way: _Way, insecure: frozenset[str]) -> Settings:
    """Mirrors and hosts without TLS are the machine's own; credentials of its users are nobody else's."""
    settings = replace(
        Settings.load(),
        auth_files=(),
        connect=_SECONDS,
        patience=_SECONDS,
        tries=1,
        kept=_IDLE,
        slowest=_SLOWEST,
        verify=not way.given.get("insecureSkipVerify"),
    )
    if way.given.get("certConfigMap"):
        settings = replace(settings, authorities=of_config_map(way.given["certConfigMap"], way.authorities))
    if kind != "registry":
        return settings
    reference = Reference.parse(way.given["url"])
    if reference.registry in insecure:
        settings = replace(settings, verify=False, insecure=settings.insecure | {reference.registry})
    if not way.given.get("secretRef"):
        return settings
    if _PULL_SECRET in way.secret:
        place = f"the Secret {way.given['secretRef']}"
        found = credentials.find_in(way.secret[_PULL_SECRET], place, reference.registry, reference.repository)
    else:
        found = _login(way)
    return replace(settings, logins={reference.registry: replace(found, private=True)} if found else {})


def _ask_registry(registry: Registry, cron: Object, way: _Way) -> Version:
    prereleases = annotation(cron, names.PRERELEASES) == "true"
    return newest_image(registry, way.given["url"], _known(cron), prereleases=prereleases)


def _known(cron: Object) -> Version | None:
    """The version that was seen last, for sources that may still have it."""
    if _is_doubted(cron) or not annotation(cron, names.DESIRED_DIGEST):
        return None
    return Version(
        annotation(cron, names.DESIRED_DIGEST),
        annotation(cron, names.NEWEST_VERSION),
        size=annotation(cron, names.NEWEST_SIZE),
        listed=annotation(cron, names.TAGS_LISTED) == "true",
    )


def _is_doubted(cron: Object) -> bool:
    """Whether what is known is asked for all the same: somebody wants to know, or it cannot be imported. A release may
    have been pushed anew, and a file replaced by one of its date and size, though that is not done."""
    failed = (condition(cron, UP_TO_DATE) or {}).get("reason") == IMPORT_FAILED
    return failed or annotation(cron, names.CHECK_NOW) != annotation(cron, names.CHECKED)


def _ask_web(registry: Registry, cron: Object, way: _Way) -> Version:
    authorization = _login(way).basic if way.given.get("secretRef") else ""
    visitor = Visitor(registry.transport, authorization, way.headers)
    return newest_file(visitor, way.given["url"], annotation(cron, names.CHECKSUM_FILE), _known(cron))


def _login(way: _Way) -> Credentials:
    place = f"the Secret {way.given['secretRef']}"
    for key in (_USER, _PASSWORD):
        if key not in way.secret:
            raise ImageFault("secretRef", "BadSecret", f"the Secret has no {key}: put it there")
    user, password = (_text(way.secret[key], key).rstrip("\r\n") for key in (_USER, _PASSWORD))
    return Credentials(user, password, place=place, private=True)


def _text(value: bytes, name: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ImageFault(name, "BadSecret", "it is no text") from None
