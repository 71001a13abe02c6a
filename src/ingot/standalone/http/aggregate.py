"""Groups that another server answers for: requests are handed on to it once it is known who asks and that they may."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from aiohttp import web

from ingot.api import extensions
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
    """The server of the groups in `ingot.api.extensions`, on its unix socket. It believes all that comes through it."""

    socket: Path

    def answers(self, group: str) -> bool:
        return group in extensions.NAMES

    def describes(self, path: str) -> bool:
        """Whether a path is that of its discovery, which everybody may read who may read ours."""
        return path.rstrip("/") in extensions.DOCUMENTS

    async def describe(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        """One of its discovery documents."""
        path = request.path.rstrip("/")
        return await self._behind(path.split("/")[2]).forward(request, path, b"", headers(user))

    async def answer(self, request: web.BaseRequest, found: Target, user: User) -> web.StreamResponse:
        """Hands on what `found` names, and nothing else that the path may hold."""
        path = _path(found)
        behind = self._behind(found.group)
        if is_upgrade(request):
            return await behind.tunnel(request, path, headers(user))
        return await behind.forward(request, path, await read_body(request), headers(user))

    def _behind(self, group: str) -> Behind:
        return Behind(self.socket, lambda detail: _unavailable(group, detail))


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


def _unavailable(group: str, detail: str) -> ApiError:
    why = f"the server of {group} does not answer ({detail}); it is started again soon"
    return ApiError(503, "ServiceUnavailable", why)
