import pytest

from ingot.api.object import Object
from ingot.kube.cache import NAMESPACE, OWNER, Cache, Key, key_of


def thing(namespace: str, name: str, owner: str = "", **fields: object) -> Object:
    references = [{"uid": owner}] if owner else []
    return {"metadata": {"namespace": namespace, "name": name, "ownerReferences": references}, **fields}


def put(cache: Cache, obj: Object) -> None:
    cache.put(key_of(obj), obj)


def names(objects: list[Object]) -> list[str]:
    return sorted(obj["metadata"]["name"] for obj in objects)


def test_objects_are_found_by_key_namespace_and_owner() -> None:
    cache = Cache()
    for obj in (thing("a", "x", "u1"), thing("a", "y"), thing("b", "z", "u1")):
        put(cache, obj)
    assert cache.get(Key("a", "x")) == thing("a", "x", "u1")
    assert cache.get(Key("b", "x")) is None
    assert names(cache.list()) == ["x", "y", "z"]
    assert names(cache.list("a")) == ["x", "y"]
    assert names(cache.by_index(OWNER, "u1")) == ["x", "z"]
    assert cache.by_index(OWNER, "nobody") == []
    assert len(cache) == 3


def test_indexes_follow_changes() -> None:
    cache = Cache()
    cache.add_index("colour", lambda obj: obj.get("colours", ()))
    put(cache, thing("a", "x", colours=["red", "blue"]))
    put(cache, thing("a", "x", colours=["blue", "green"]))
    assert cache.by_index("colour", "red") == []
    assert names(cache.by_index("colour", "green")) == ["x"]
    cache.drop(Key("a", "x"))
    assert cache.by_index("colour", "blue") == []
    assert cache.by_index(NAMESPACE, "a") == []
    assert cache._indexes == {NAMESPACE: {}, OWNER: {}, "colour": {}}, "empty values must not pile up"


def test_an_index_over_what_is_there_already() -> None:
    cache = Cache()
    put(cache, thing("a", "x", node="n1"))

    def by_node(obj: Object) -> list[str]:
        return [obj["node"]]

    cache.add_index("node", by_node)
    assert names(cache.by_index("node", "n1")) == ["x"]
    cache.add_index("node", by_node)
    assert names(cache.by_index("node", "n1")) == ["x"]
    with pytest.raises(ValueError, match='index "node"'):
        cache.add_index("node", lambda _: ())


def test_an_unknown_index_is_an_error_not_an_empty_answer() -> None:
    with pytest.raises(KeyError):
        Cache().by_index("typo", "x")


def test_an_object_that_an_index_cannot_read_is_still_kept() -> None:
    cache = Cache()
    cache.add_index("node", lambda obj: [obj["node"]])
    put(cache, thing("a", "odd"))
    put(cache, thing("a", "even", node="n1"))
    assert names(cache.list()) == ["even", "odd"]
    assert names(cache.by_index("node", "n1")) == ["even"]


def test_answers_are_snapshots() -> None:
    cache = Cache()
    put(cache, thing("a", "x", size=1))
    before = cache.list()
    put(cache, thing("a", "x", size=2))
    put(cache, thing("a", "y"))
    assert [obj["size"] for obj in before] == [1]


def test_put_and_drop_tell_what_was_there() -> None:
    cache = Cache()
    first, second = thing("a", "x", size=1), thing("a", "x", size=2)
    assert cache.put(Key("a", "x"), first) is None
    assert cache.put(Key("a", "x"), second) is first
    assert cache.drop(Key("a", "x")) is second
    assert cache.drop(Key("a", "x")) is None


def test_keys_print_as_people_write_them() -> None:
    assert str(Key("ns", "x")) == "ns/x"
    assert str(Key("", "node")) == "node"
