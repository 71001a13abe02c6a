"""The stream of a watch: one JSON object a line, decoded as fast as it arrives."""

from collections.abc import AsyncGenerator

import aiohttp
import msgspec

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.kube.transport import ConnectionFailed


class WatchEvent(msgspec.Struct):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; a bookmark's object has a resourceVersion and little else."""

    type: str
    object: Object

    @property
    def resource_version(self) -> str:
        return str(self.object.get("metadata", {}).get("resourceVersion", ""))


_decode = msgspec.json.Decoder(WatchEvent).decode


async def watch_events(response: aiohttp.ClientResponse, server: str) -> AsyncGenerator[list[WatchEvent], None]:
    """The events of `response`, in the batches that they came in; closes it at the end.

    Ends quietly where the server ended the watch. An ERROR event is raised as ApiError after the events before
    it, a broken stream as ConnectionFailed.
    """
    path = response.url.path
    rest: list[bytes] = []
    try:
        async for chunk in response.content.iter_any():
            head, newline, tail = chunk.rpartition(b"\n")
            if not newline:
                rest.append(chunk)
                continue
            lines = b"".join([*rest, head]).split(b"\n")
            rest = [tail] if tail else []
            events = [_decode(line) for line in lines if line]
            errors = [event for event in events if event.type == "ERROR"]
            yield events[: events.index(errors[0])] if errors else events
            if errors:
                raise ApiError.from_status(errors[0].object, 500)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ConnectionFailed.of(server, "GET", path, error) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectionFailed(server, "GET", path, "closed", f"not a watch event: {error}") from error
    finally:
        response.close()
    if rest:
        raise ConnectionFailed(server, "GET", path, "closed", "the stream ends within an event")
