"""Requests as they are on the wire, and answers with everything that a client could act on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from ingot.kube.credentials import Credentials
from ingot.kube.kubeconfig import Config
from wire.transcript import Transcript

# Headers that clients read. All others are the transport's own business.
TELLING = ("Content-Type", "Warning", "Retry-After", "Allow", "WWW-Authenticate", "Location")
SECONDS = aiohttp.ClientTimeout(total=60)


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is decoded where it is JSON, text elsewhere."""

    status: int
    headers: dict[str, str | list[str]]
    body: Any


class Exchange:
    """HTTP as the user of `config`; every exchange is written down."""

    def __init__(self, session: aiohttp.ClientSession, config: Config, transcript: Transcript) -> None:
        self._session = session
        self._server = config.server
        self._credentials = Credentials(config)
        self._transcript = transcript

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        view: Callable[[Any], Any] = lambda body: body,
        record: str = "",
        raw: bool = False,
        **query: str,
    ) -> Answer:
        """Sends `body` as it is if it is bytes or text, else as JSON.

        `view` picks what is written down of the answer's body, where most of it is of no concern; `record` is what
        is written down of the request, where its path is another with every run. With `raw` a JSON body stays text.
        An underscore in front of a query's name is dropped.
        """
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else _json(body)
        target = path + _query(query)
        async with self._session.request(
            method, self._url(target), data=data, timeout=SECONDS, **self._arguments(headers, data)
        ) as response:
            text = (await response.read()).decode(errors="replace")
            answer = Answer(response.status, _telling(response), text if raw else _decoded(text))
        shown: dict[str, Any] = {"status": answer.status, "headers": answer.headers, "body": view(answer.body)}
        self._transcript.add(
            record or f"{method} {target}", {key: value for key, value in shown.items() if value != {}}
        )
        return answer

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.send("GET", path, **options)

    @asynccontextmanager
    async def watch(
        self, path: str, *, headers: Mapping[str, str] | None = None, record: str = "", **query: str
    ) -> AsyncIterator[AsyncIterator[Any]]:
        """The events of a watch, each written down when it is taken."""
        target = path + _query({"watch": "true", **query})
        async with self._session.get(self._url(target), timeout=SECONDS, **self._arguments(headers, None)) as response:
            assert response.status == 200, await response.text()
            yield self._events(record or f"GET {target}", response)

    async def _events(self, request: str, response: aiohttp.ClientResponse) -> AsyncIterator[Any]:
        async for line in response.content:
            event = json.loads(line)
            self._transcript.add(request, event)
            yield event

    def _url(self, target: str) -> URL:
        return URL(self._server + target, encoded=True)

    def _arguments(self, headers: Mapping[str, str] | None, data: bytes | None) -> dict[str, Any]:
        sent = {"Accept": "application/json", "User-Agent": "wire", **self._credentials.headers()}
        if data is not None:
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        # An empty text takes a header away.
        return {
            "headers": {name: value for name, value in sent.items() if value},
            "skip_auto_headers": ("Content-Type", "Accept"),
            "ssl": self._credentials.tls(),
        }


def _json(body: Any) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def _query(query: Mapping[str, str]) -> str:
    named = {name.removeprefix("_"): value for name, value in query.items()}
    return f"?{urlencode(named)}" if named else ""


def _decoded(text: str) -> Any:
    return json.loads(text) if text.startswith("{") else text


def _telling(response: aiohttp.ClientResponse) -> dict[str, str | list[str]]:
    found = {name: response.headers.getall(name) for name in TELLING if name in response.headers}
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}
