import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from ingot.kube.frontproxy import FrontProxy
from ingot.kube.kubeconfig import ConfigError

DATA = {
    "requestheader-client-ca-file": "PEM",
    "requestheader-allowed-names": '["front"]',
    "requestheader-username-headers": '["X-Remote-User", "X-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}
SHOWN = {"subject": ((("organizationName", "o"),), (("commonName", "front"),))}


def test_who_may_speak_for_users():
    proxy = FrontProxy.read({"data": DATA})
    assert proxy.trusts(SHOWN)
    assert not proxy.trusts(None)
    assert not proxy.trusts({})
    assert not proxy.trusts({"subject": ((("commonName", "other"),), (("organizationName", "front"),))})
    anybody = FrontProxy.read({"data": {**DATA, "requestheader-allowed-names": "[]"}})
    assert anybody.trusts({"subject": ((("commonName", "other"),),)})
    assert not anybody.trusts(None)


def test_the_user_is_read_from_the_headers_that_the_cluster_names():
    proxy = FrontProxy.read({"data": DATA})
    headers = CIMultiDict({"x-remote-user": "jane", "X-Remote-Extra-Example.Org%2fScopes": "a", "X-Remote-Uid": "7"})
    headers.extend([("X-Remote-Group", "dev"), ("X-Remote-Group", "ops")])
    assert proxy.user(CIMultiDictProxy(headers)) == {
        "username": "jane",
        "uid": "7",
        "groups": ["dev", "ops"],
        "extra": {"example.org/scopes": ["a"]},
    }
    assert proxy.user(CIMultiDictProxy(CIMultiDict({"X-User": "joe"})))["username"] == "joe"
    assert proxy.user(CIMultiDictProxy(CIMultiDict({"X-Remote-Group": "system:masters"}))) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"requestheader-client-ca-file": " "}, "--requestheader-client-ca-file"),
        ({"requestheader-username-headers": ""}, "--requestheader-username-headers"),
        ({"requestheader-allowed-names": "front"}, "no list in JSON"),
        ({"requestheader-allowed-names": '{"front": 1}'}, "no list of names"),
    ],
)
def test_a_cluster_that_passes_nothing_on_is_told_how(change, said):
    with pytest.raises(ConfigError, match=said):
        FrontProxy.read({"data": {**DATA, **change}})
