import pytest
from aiohttp import web
from kube_faults import FaultServer, answer

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.kube.client import Client
from ingot.kube.discovery import Discovery, UnknownResource


def entry(plural: str, kind: str, *short: str) -> Object:
    return {"name": plural, "kind": kind, "namespaced": True, "verbs": ["get"], "shortNames": list(short)}


class Api:
    """The documents of discovery, which a test may change."""

    def __init__(self, server: FaultServer) -> None:
        self.documents: dict[str, Object] = {
            "/api": {"versions": ["v1"]},
            "/apis": {
                "groups": [
                    {
                        "name": "g",
                        "versions": [{"groupVersion": "g/v2"}, {"groupVersion": "g/v1"}],
                        "preferredVersion": {"groupVersion": "g/v1"},
                    },
                    {"name": "down", "versions": [{"groupVersion": "down/v1"}]},
                ]
            },
            "/api/v1": {"groupVersion": "v1", "resources": [entry("pods", "Pod", "po"), entry("pods/log", "Pod")]},
            "/apis/g/v1": {"groupVersion": "g/v1", "resources": [entry("widgets", "Widget", "w")]},
            "/apis/g/v2": {"groupVersion": "g/v2", "resources": [entry("widgets", "Widget", "w")]},
        }
        server.handler = self.handle

    async def handle(self, request: web.Request) -> web.StreamResponse:
        found = self.documents.get(request.path)
        return answer(found) if found else web.Response(status=503)


async def test_the_preferred_version_comes_first_and_others_can_be_named(server: FaultServer, client: Client) -> None:
    Api(server)
    discovery = Discovery(client)
    assert (await discovery.find("w")).resource == Resource("g", "v1", "widgets", "Widget")
    assert (await discovery.find("Widget.v2.g")).resource.version == "v2"
    assert (await discovery.find("pod")).subresources == ("log",)


async def test_a_group_that_is_down_does_not_hide_the_others(server: FaultServer, client: Client) -> None:
    Api(server)
    assert {served.resource.plural for served in await Discovery(client).all()} == {"pods", "widgets"}


async def test_answers_are_remembered_until_a_name_is_new(server: FaultServer, client: Client) -> None:
    api, discovery = Api(server), Discovery(client)
    await discovery.find("po")
    asked = len(server.requests)
    await discovery.find("widgets.g")
    assert len(server.requests) == asked
    api.documents["/apis/g/v1"]["resources"].append(entry("gadgets", "Gadget"))
    assert (await discovery.find("gadget")).resource.plural == "gadgets"
    assert await discovery.of({"apiVersion": "g/v1", "kind": "Gadget"}) == Resource("g", "v1", "gadgets", "Gadget")


async def test_what_nobody_serves_is_unknown(server: FaultServer, client: Client) -> None:
    Api(server)
    with pytest.raises(UnknownResource, match='no resource type "unicorns"'):
        await Discovery(client).find("unicorns")
    with pytest.raises(UnknownResource, match="Pod of v9"):
        await Discovery(client).of({"apiVersion": "v9", "kind": "Pod"})
