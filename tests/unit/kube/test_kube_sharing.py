import msgspec

from ingot.kube.sharing import shared

TEXT = b'{"metadata": {"annotations": {"a.long.key.that.decoders.do.not.keep/x": "word"}, "u": "7"}, "n": [1, "word"]}'


def test_equal_texts_of_two_objects_are_one_in_memory() -> None:
    one, other = (shared(msgspec.json.decode(TEXT)) for _ in range(2))
    assert one == other == msgspec.json.decode(TEXT)
    (key, value), (same_key, same_value) = (next(iter(obj["metadata"]["annotations"].items())) for obj in (one, other))
    assert key is same_key
    assert value is same_value is one["n"][1]


def test_long_texts_are_left_as_they_are() -> None:
    text = "x" * 1000
    assert shared({"data": text})["data"] is text
