"""Groups that another server answers for: requests are handed on to it once it is known who asks and that they may."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from ingot.api.kubevirt import subresources
from ingot.api.status import ApiError, path_not_found
from ingot.kube.tunnel import Behind, is_upgrade
from ingot.standalone.access.user import User
from ingot.standalone.http.target import Target
from ingot.standalone.http.verbs import read_body

# What an API server that stands before another says of the user, as kube-apiserver's aggregator does.
USER, UID, GROUP, EXTRA = "X-Remote-User", "X-Remote-Uid", "X-Remote-Group", "X-Remote-Extra-"
# What may stand in a header's name, besides letters and digits; the rest is escaped as in a URL.
_PUNCTUATION = "!#$&'*+-.^_`|~"


@dataclass(frozen=True, slots=True)
class Extension:
    """The server of subresources.kubevirt.io, on its unix socket. It believes all that comes through it."""

    socket: Path
    group: str = subresources.GROUP

    def documents(self) -> tuple[str, ...]:
        """The paths of its discovery, which everybody may read who may read ours."""
        return (f"/apis/{self.group}", *(f"/apis/{self.group}/{version}" for version in subresources.VERSIONS))

    async def describe(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        """One of its discovery documents."""
        return await self._behind().forward(request, request.path.rstrip("/"), b"", headers(user))

    async def answer(self, request: web.BaseRequest, found: Target, user: User) -> web.StreamResponse:
        """Hands on what `found` names, and nothing else that the path may hold."""
        path = _path(found)
        if is_upgrade(request):
            return await self._behind().tunnel(request, path, headers(user))
        return await self._behind().forward(request, path, await read_body(request), headers(user))

    def _behind(self) -> Behind:
        return Behind(self.socket, _unavailable)


def headers(user: User) -> list[tuple[str, str]]:
    """The user as headers. None of the client's own are handed on, so nobody can add to them."""
    made = [(USER, user.name)]
    if user.uid:
        made.append((UID, user.uid))
    made += [(GROUP, group) for group in user.groups]
    for key, values in user.extra.items():
        made += [(EXTRA + quote(key.lower(), safe=_PUNCTUATION), value) for value in values]
    return made


def _path(found: Target) -> str:
    parts = ["namespaces", found.namespace] if found.namespace else []
    parts += [found.plural, found.name, found.subresource]
    named = [part for part in parts if part]
    if found.watched or any(part in (".", "..") for part in named):
        raise path_not_found()
    return "/".join((f"/apis/{found.group}/{found.version}", *(quote(part, safe="") for part in named)))


def _unavailable(detail: str) -> ApiError:
    why = f"the server of {subresources.GROUP} does not answer ({detail}); it is started again soon"
    return ApiError(503, "ServiceUnavailable", why)
