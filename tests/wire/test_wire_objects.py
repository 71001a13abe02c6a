"""Objects are created, read, replaced and selected."""

from wire.kinds import CONFIG_MAPS, NAMESPACES, PODS, SECRETS, config_map, pod
from wire.talker import Conversation, refused

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


async def test_an_object_comes_back_as_it_was_stored(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one", {"app": "web"}, colour="red"))
    assert await case.get(CONFIG_MAPS, "one") == made


async def test_what_is_not_there_is_not_found(case: Conversation) -> None:
    with refused("NotFound", 'configmaps "one" not found'):
        await case.get(CONFIG_MAPS, "one")
    with refused("NotFound", 'configmaps "one" not found'):
        await case.patch(CONFIG_MAPS, "one", {"data": {"a": "b"}})
    with refused("NotFound", 'configmaps "one" not found'):
        await case.delete(CONFIG_MAPS, "one")
    with refused("NotFound", 'namespaces "no-such-place" not found'):
        await case.get(NAMESPACES, "no-such-place")


async def test_a_name_is_taken_once(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one"))
    with refused("AlreadyExists", 'configmaps "one" already exists'):
        await case.create(CONFIG_MAPS, config_map("one"))


async def test_a_generated_name_begins_with_what_was_asked_for(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, {"metadata": {"generateName": "gen-"}})
    assert made["metadata"]["name"].startswith("gen-")
    assert len(made["metadata"]["name"]) == len("gen-") + 5
    assert made["metadata"]["generateName"] == "gen-"


async def test_a_replacement_of_an_old_version_is_a_conflict(case: Conversation) -> None:
    first = await case.create(CONFIG_MAPS, config_map("one", colour="red"))
    second = await case.replace(CONFIG_MAPS, {**first, "data": {"colour": "green"}})
    assert second["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]
    with refused("Conflict", f'Operation cannot be fulfilled on configmaps "one": {MODIFIED}'):
        await case.replace(CONFIG_MAPS, {**first, "data": {"colour": "blue"}})
    assert (await case.get(CONFIG_MAPS, "one"))["data"] == {"colour": "green"}


async def test_a_replacement_without_a_version_is_unconditional(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, config_map("one", {"app": "web"}, colour="red"))
    replaced = await case.replace(CONFIG_MAPS, config_map("one", colour="green"))
    assert "labels" not in replaced["metadata"]
    assert replaced["data"] == {"colour": "green"}


async def test_a_replacement_that_changes_nothing_keeps_the_version(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one", colour="red"))
    again = await case.replace(CONFIG_MAPS, made)
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_replacement_of_another_object_of_the_same_name_is_refused(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one"))
    made["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    with refused("Conflict"):
        await case.replace(CONFIG_MAPS, made)


async def test_only_names_that_a_host_could_have_are_accepted(case: Conversation) -> None:
    for name in ("Upper", "under_score", "-dash", "a" * 254, "dot..dot"):
        with refused("Invalid"):
            await case.create(CONFIG_MAPS, config_map(name))


async def test_labels_and_annotations_have_their_syntax(case: Conversation) -> None:
    for labels in ({"a b": "c"}, {"a": "b c"}, {"a": "x" * 64}, {"/a": "b"}, {"UPPER.test/a": "b"}):
        with refused("Invalid"):
            await case.create(CONFIG_MAPS, config_map("one", labels))
    odd = config_map("one")
    odd["metadata"]["annotations"] = {"not a key": "any text is fine here"}
    with refused("Invalid"):
        await case.create(CONFIG_MAPS, odd)


async def test_label_selectors_choose_from_a_list(case: Conversation) -> None:
    for name, labels in {"a": {"tier": "web"}, "b": {"tier": "db", "fast": ""}, "c": {}}.items():
        await case.create(CONFIG_MAPS, config_map(name, {**labels, "of": "case"}))
    chosen = {
        "tier=web": ["a"],
        "tier==db": ["b"],
        "of=case,tier!=web": ["b", "c"],
        "tier in (web, db)": ["a", "b"],
        "of,tier notin (web)": ["b", "c"],
        "tier": ["a", "b"],
        "of,!tier": ["c"],
        "fast=": ["b"],
        "tier=web,tier=db": [],
    }
    for selector, names in chosen.items():
        assert await case.names(CONFIG_MAPS, labels=selector) == names, selector


async def test_field_selectors_choose_from_a_list(case: Conversation) -> None:
    for name in ("a", "b"):
        await case.create(PODS, pod(name, restartPolicy="Never" if name == "a" else "Always"))
    assert await case.names(PODS, fields="metadata.name=a") == ["a"]
    assert await case.names(PODS, fields="metadata.name!=a") == ["b"]
    assert await case.names(PODS, fields="spec.restartPolicy=Never,status.phase=Pending") == ["a"]
    assert await case.names(PODS, fields="spec.nodeName=") == ["a", "b"]
    assert await case.names(PODS, fields=f"metadata.namespace={case.namespace}") == ["a", "b"]


async def test_a_field_that_cannot_be_selected_by_is_named(case: Conversation) -> None:
    with refused("BadRequest"):
        await case.list(CONFIG_MAPS, fields="data.colour=red")


async def test_an_immutable_object_keeps_its_data(case: Conversation) -> None:
    made = await case.create(SECRETS, {"metadata": {"name": "sealed"}, "immutable": True, "data": {"a": "YQ=="}})
    with refused("Invalid", "data: Forbidden: field is immutable when `immutable` is set"):
        await case.replace(SECRETS, {**made, "data": {"a": "Yg=="}})
    with refused("Invalid", "immutable: Forbidden: field is immutable when `immutable` is set"):
        await case.patch(SECRETS, "sealed", {"immutable": False})
    labelled = await case.patch(SECRETS, "sealed", {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["labels"] == {"a": "b"}


async def test_metadata_that_only_the_server_writes_is_not_taken(case: Conversation) -> None:
    asked = config_map("one")
    asked["metadata"] |= {
        "uid": "11111111-2222-3333-4444-555555555555",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "selfLink": "/elsewhere",
    }
    made = await case.create(CONFIG_MAPS, asked)
    assert made["metadata"]["uid"] != asked["metadata"]["uid"]
    assert not {"deletionTimestamp", "selfLink"} & set(made["metadata"])
    assert not made["metadata"]["creationTimestamp"].startswith("2001")


async def test_a_dry_run_answers_and_stores_nothing(case: Conversation) -> None:
    made = await case.create(CONFIG_MAPS, config_map("one", colour="red"), dry_run=True)
    assert made["metadata"]["uid"]
    with refused("NotFound"):
        await case.get(CONFIG_MAPS, "one")
    kept = await case.create(CONFIG_MAPS, config_map("one", colour="red"))
    with refused("AlreadyExists"):
        await case.create(CONFIG_MAPS, config_map("one"), dry_run=True)
    tried = await case.patch(CONFIG_MAPS, "one", {"data": {"colour": "blue"}}, dry_run=True)
    assert tried["data"] == {"colour": "blue"}
    await case.delete(CONFIG_MAPS, "one", dry_run=True)
    assert await case.get(CONFIG_MAPS, "one") == kept


async def test_data_of_a_secret_is_base64_and_text_goes_in_beside_it(case: Conversation) -> None:
    secret = {"metadata": {"name": "one"}, "data": {"a": "YQ=="}, "stringData": {"b": "text"}}
    made = await case.create(SECRETS, secret)
    assert made["data"] == {"a": "YQ==", "b": "dGV4dA=="}
    assert "stringData" not in made
    assert made["type"] == "Opaque"
    with refused("Invalid", 'type: Invalid value: "other": field is immutable'):
        await case.patch(SECRETS, "one", {"type": "other"})
