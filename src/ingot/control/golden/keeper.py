"""Objects of an SSP, kept as they should be: what is missing is made, what was changed is changed back."""

from collections.abc import Callable

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.control.owning import is_passing
from ingot.control.writing import change
from ingot.kube.cache import Cache, key_of
from ingot.kube.client import Client
from ingot.kube.objects import copy_of, is_deleting


class Keeper:
    """One round of it. `problems` are the refusals of the server, for people; all else that fails is raised.

    `is_late`: something is no longer as the cache has it, and another round is due. The others are done all the same: a
    garbage collector that takes twenty away, one by one, would stop as many rounds.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.problems: list[str] = []
        self.is_late = False

    async def keep(self, resource: Resource, cache: Cache, obj: Object, heal: Callable[[Object], None]) -> None:
        """Make `obj` with what `heal` adds to it, or let that change in place what is there under its name."""
        found = cache.get(key_of(obj))
        if found is None:
            await self._make(resource, obj, heal)
        elif not is_deleting(found):
            await self._change(resource, found, heal)

    async def _make(self, resource: Resource, obj: Object, heal: Callable[[Object], None]) -> None:
        made = copy_of(obj)
        heal(made)
        try:
            await self._client.create(resource, made)
        except ApiError as error:
            # 404 is its namespace: nothing else is named on the way.
            if error.code == 404 or not is_passing(error):
                self._refused(f"{resource.kind} {key_of(obj)} cannot be made", error)
            else:
                self._outrun(error)

    async def _change(self, resource: Resource, found: Object, heal: Callable[[Object], None]) -> None:
        try:
            await change(self._client, resource, found, heal)
        except ApiError as error:
            if not is_passing(error):
                self._refused(f"{resource.kind} {key_of(found)} cannot be changed", error)
            else:
                self._outrun(error)

    def _outrun(self, error: ApiError) -> None:
        """Somebody was quicker; any other error is raised."""
        if error.code not in (404, 409):
            raise error
        self.is_late = True

    def _refused(self, what: str, error: ApiError) -> None:
        self.problems.append(f"{what}: {error.message}")
