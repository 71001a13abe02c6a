"""Lists come sorted by namespace and name, whatever the order of writes."""

from hypothesis import given
from hypothesis import strategies as st

from ingot.standalone.store.collection import Collection
from ingot.standalone.store.history import Entry

KEYS = st.tuples(st.sampled_from(["a", "a-b", "ab", "b"]), st.text("abc-", min_size=1, max_size=4))


@given(st.lists(st.tuples(st.booleans(), KEYS)))
def test_it_agrees_with_a_sorted_dictionary(steps: list[tuple[bool, tuple[str, str]]]) -> None:
    collection, model = Collection(), {}
    for revision, (keep, key) in enumerate(steps):
        if keep:
            entry = model[key] = Entry(*key, revision, b"{}")
            collection.put(entry)
        else:
            model.pop(key, None)
            collection.remove(*key)
        assert list(collection) == [model[each] for each in sorted(model)]
    for namespace in ("a", "a-b", "ab", "b"):
        assert list(collection.within(namespace)) == [model[each] for each in sorted(model) if each[0] == namespace]
    assert len(collection) == len(model)
