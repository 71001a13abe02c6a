"""Every request: who asks, may they, and what is the answer."""

import logging

from aiohttp import web

from ingot.api.status import ApiError, internal, too_large
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.authenticate import Authenticator
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.http import target as targets
from ingot.standalone.http.aggregate import Extension
from ingot.standalone.http.answers import refusal
from ingot.standalone.http.documents import Documents
from ingot.standalone.http.verbs import MAX_BODY, Verbs
from ingot.standalone.objects.call import flag

log = logging.getLogger(__name__)


class Handler:
    """The server's one handler: authentication, authorization, then documents or verbs."""

    def __init__(
        self,
        authenticator: Authenticator,
        authorizer: Authorizer,
        documents: Documents,
        verbs: Verbs,
        extension: Extension | None = None,
    ) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._documents = documents
        self._verbs = verbs
        self._extension = extension

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except ApiError as error:
            return refusal(error)
        except web.HTTPRequestEntityTooLarge:
            return refusal(too_large(f"Request entity too large: limit is {MAX_BODY}"))
        except ConnectionError:
            raise
        except Exception as error:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(internal(f"{type(error).__name__}: {error}"))

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        user = self._authenticator.authenticate(request.headers.items(), _certificate(request), request.path)
        found = targets.parse(request.raw_path.partition("?")[0])
        if found is None:
            self._authorizer.check(user, Attributes(request.method.lower(), path=request.path))
            if self._extension and request.method == "GET" and self._extension.describes(request.path):
                return await self._extension.describe(request, user)
            return await self._documents.answer(request)
        verb = found.verb(request.method, flag(request.query, "watch"))
        name = found.name
        if not name and verb in ("list", "watch") and not found.watched:
            name = targets.selected_name(request.query)
        wanted = Attributes(verb, found.group, found.version, found.plural, found.subresource, found.namespace, name)
        self._authorizer.check(user, wanted)
        if self._extension and self._extension.answers(found.group):
            return await self._extension.answer(request, found, user)
        return await self._verbs.answer(request, found, verb, user)


def _certificate(request: web.BaseRequest) -> bytes | None:
    """The client's verified certificate, if it has shown one."""
    tls = request.get_extra_info("ssl_object")
    return tls.getpeercert(True) if tls else None
