"""What the one CDIConfig wishes for all pods that fill volumes, as far as that is granted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ingot.api.cdi.config import NAME
from ingot.api.object import Object
from ingot.api.quantity import exact
from ingot.api.resources import CDI_CONFIGS
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.kube.cache import Cache, Key
from ingot.kube.informer import Informer
from ingot.kube.manager import Manager

# The programs of the world read them in lower case.
_PROXIES = {"HTTPProxy": "http_proxy", "HTTPSProxy": "https_proxy", "noProxy": "no_proxy"}


@dataclass(frozen=True, slots=True)
class Wishes:
    """`spec` is that of the CDIConfig; {} where there is none."""

    spec: Object = field(default_factory=dict)

    @property
    def preallocation(self) -> bool:
        """Whether volumes that do not say it themselves have no holes."""
        return bool(self.spec.get("preallocation"))

    @property
    def pull_secrets(self) -> list[Object]:
        """The Secrets with which the image of the pods is pulled, in the namespace of each pod."""
        return list(self.spec.get("imagePullSecrets") or ())

    @property
    def proxies(self) -> dict[str, str]:
        """The variables that name the way out of imports."""
        given = self.spec.get("importProxy") or {}
        return {name: given[key] for key, name in _PROXIES.items() if given.get(key)}

    @property
    def insecure(self) -> frozenset[str]:
        """The hosts of registries that need not prove who they are, nor speak TLS."""
        return frozenset(self.spec.get("insecureRegistries") or ())

    def resources(self, default: Mapping[str, Object]) -> Object:
        """What a pod asks for: the default, but for what is said of it. A default that contradicts that gives way: the
        server takes no pod that requests more than its limit."""
        given = self.spec.get("podResourceRequirements") or {}
        said = {sort: given.get(sort) or {} for sort in ("requests", "limits")}
        requests, limits = ({**default[sort], **said[sort]} for sort in said)
        beyond = {name for name in requests.keys() & limits.keys() if exact(requests[name]) > exact(limits[name])}
        lowered = {name: limits[name] for name in beyond - said["requests"].keys()}
        dropped = beyond - said["limits"].keys()
        return {
            "requests": requests | lowered,
            "limits": {name: limit for name, limit in limits.items() if name not in dropped},
        }

    def of_source(self, kind: str, given: Object) -> Object:
        """A source, not verified where its registry is one of those."""
        if kind != "registry" or not given.get("url"):
            return given
        try:
            trusted = Reference.parse(given["url"]).registry in self.insecure
        except ImageFault:
            return given
        return {**given, "insecureSkipVerify": True} if trusted else given


NOTHING = Wishes()


def wishes_in(configs: Cache) -> Wishes:
    """Those at this moment."""
    return Wishes((configs.get(Key("", NAME)) or {}).get("spec") or {})


def configs_of(manager: Manager) -> Informer:
    """Of the one that counts."""
    return manager.informer(CDI_CONFIGS, field_selector=f"metadata.name={NAME}")
