"""Custom kinds: once defined they are served, defaulted, pruned, validated and scaled as any other."""

from collections.abc import Callable

from ingot.api.object import Object
from ingot.kube.client import Client
from wire.customs import SPEC, answers, definition, gadget, gadgets, group_of, served, shared, version
from wire.kinds import CRDS
from wire.talker import Conversation, refused


def condition(kind: str, status: str) -> Callable[[Object], bool]:
    def holds(obj: Object) -> bool:
        found = obj.get("status", {}).get("conditions") or ()
        return any(each["type"] == kind and each["status"] == status for each in found)

    return holds


async def test_a_definition_becomes_established(case: Conversation) -> None:
    group = group_of(case.namespace)
    made = await case.create(CRDS, definition(group))
    assert made["metadata"]["generation"] == 1
    ready = await case.until(CRDS, f"gadgets.{group}", condition("Established", "True"))
    assert ready["status"]["acceptedNames"]["plural"] == "gadgets"
    assert ready["status"]["storedVersions"] == ["v1"]


async def test_an_instance_is_defaulted_and_pruned(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    asked = gadget(resource, "one", parts=[{"name": "a", "odd": 1}], surprise=1, free={"any": {"thing": [1, "2"]}})
    made = await case.create(resource, asked)
    assert made["spec"]["size"] == 3
    assert made["spec"]["parts"] == [{"name": "a", "count": 1}]
    assert made["spec"]["free"] == {"any": {"thing": [1, "2"]}}
    assert "surprise" not in made["spec"]
    assert await case.get(resource, "one") == made


async def test_every_fault_of_an_instance_is_told(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    faults: dict[str, Object] = {
        "not of the enumeration": {"colour": "pink"},
        "too small": {"size": 0},
        "too big": {"size": 11},
        "not a whole number": {"size": 1.5},
        "beyond 32 bits": {"size": 2**40},
        "not of the type": {"size": "three"},
        "not of the pattern": {"label": "ABC"},
        "too short": {"label": "a"},
        "too long": {"label": "abcdef"},
        "not above the minimum": {"ratio": 0},
        "not a multiple": {"ratio": 0.7},
        "neither number nor text": {"port": [1]},
        "not a time": {"since": "yesterday"},
        "a duplicate in a set": {"tags": ["a", "a"]},
        "too many items": {"tags": ["a", "b", "c", "d"]},
        "too few items": {"parts": []},
        "a duplicate key": {"parts": [{"name": "a"}, {"name": "a"}]},
        "a missing key": {"parts": [{"count": 1}]},
        "a value of a map": {"limits": {"a": "b"}},
        "too many properties": {"limits": {"a": 1, "b": 2, "c": 3}},
        "an object that is none": {"free": "text"},
        "null that is not allowed": {"colour": None},
        "several at once": {"colour": "pink", "size": 0, "label": "ABC"},
    }
    for spec in faults.values():
        with refused("Invalid"):
            await case.create(resource, gadget(resource, "one", **spec))
    with refused("Invalid"):
        await case.create(resource, {**gadget(resource, "one"), "spec": {}})
    with refused("Invalid"):
        await case.create(resource, {**gadget(resource, "one"), "spec": "text"})


async def test_what_is_allowed_is_kept_as_it_is(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    spec = {"port": "http", "note": None, "ratio": 1.5, "since": "2020-01-01T00:00:00Z", "tags": ["b", "a"]}
    made = await case.create(resource, gadget(resource, "one", **spec))
    assert {name: made["spec"][name] for name in spec} == spec
    again = await case.patch(resource, "one", {"spec": {"port": 80, "size": None}})
    assert (again["spec"]["port"], again["spec"]["size"]) == (80, 3)


async def test_the_generation_counts_changes_of_the_spec(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    await case.create(resource, gadget(resource, "one"))
    changes: list[tuple[Object, str, int]] = [
        ({"metadata": {"labels": {"a": "b"}}}, "", 1),
        ({"spec": {"size": 4}}, "", 2),
        ({"spec": {"size": 4}}, "", 2),
        ({"status": {"phase": "Ready"}, "spec": {"size": 5}}, "status", 2),
        ({"status": {"phase": "Lost"}}, "", 2),
    ]
    for patch, subresource, generation in changes:
        patched = await case.patch(resource, "one", patch, subresource=subresource)
        assert patched["metadata"]["generation"] == generation, patch
    assert patched["status"] == {"phase": "Ready"}


async def test_scale_is_a_view_of_the_object(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    await case.create(resource, gadget(resource, "one"))
    status = {"status": {"replicas": 2, "selector": "app=one"}}
    await case.patch(resource, "one", status, subresource="status")
    await case.scale(resource, "one", 5)
    scale = await case.get(resource, "one", "scale")
    assert (scale["spec"], scale["status"]) == ({"replicas": 5}, {"replicas": 2, "selector": "app=one"})
    assert (await case.get(resource, "one"))["metadata"]["generation"] == 2


async def test_apply_owns_items_of_a_custom_list(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    await case.apply(resource, gadget(resource, "one", parts=[{"name": "a", "count": 2}]), manager="first")
    other = {**gadget(resource, "one"), "spec": {"parts": [{"name": "b"}]}}
    both = await case.apply(resource, other, manager="second")
    assert [part["name"] for part in both["spec"]["parts"]] == ["a", "b"]
    rival = {**gadget(resource, "one"), "spec": {"parts": [{"name": "a", "count": 3}]}}
    with refused("Conflict", 'Apply failed with 1 conflict: conflict with "first": .spec.parts[name="a"].count'):
        await case.apply(resource, rival, manager="second")
    left = await case.apply(resource, gadget(resource, "one"), manager="first")
    assert [part["name"] for part in left["spec"]["parts"]] == ["b"]


async def test_a_strategic_patch_is_not_for_custom_kinds(case: Conversation, client: Client) -> None:
    resource = await shared(client)
    await case.create(resource, gadget(resource, "one"))
    with refused("UnsupportedMediaType"):
        await case.patch(resource, "one", {"spec": {"size": 4}}, "strategic")


async def test_fields_that_the_definition_selects_by(case: Conversation, client: Client) -> None:
    fields = [{"jsonPath": ".spec.colour"}, {"jsonPath": ".spec.size"}]
    resource = await served(client, case.namespace, version(selectableFields=fields))
    specs: dict[str, Object] = {"a": {}, "b": {"colour": "blue"}, "c": {"colour": "blue", "size": 7}}
    for name, spec in specs.items():
        await case.create(resource, gadget(resource, name, **spec))
    assert await case.names(resource, fields="spec.colour=blue") == ["b", "c"]
    assert await case.names(resource, fields="spec.colour=blue,spec.size!=3") == ["c"]
    with refused("BadRequest"):
        await case.list(resource, fields="spec.label=a")


async def test_versions_without_conversion_are_one_object(case: Conversation, client: Client) -> None:
    first = await served(client, case.namespace, version("v1"), version("v2", storage=False))
    second = gadgets(first.group, "v2")
    made = await case.create(second, gadget(second, "one", size=5))
    assert made["apiVersion"] == second.api_version
    seen = await case.get(first, "one")
    assert (seen["apiVersion"], seen["spec"]) == (first.api_version, made["spec"])
    patched = await case.patch(first, "one", {"spec": {"size": 6}})
    assert patched["metadata"]["generation"] == 2
    assert [item["apiVersion"] for item in await case.list(second)] == [second.api_version]


async def test_the_storage_version_can_be_changed(case: Conversation, client: Client) -> None:
    first = await served(client, case.namespace)
    name, second = f"gadgets.{first.group}", gadgets(first.group, "v2")
    made = await case.create(first, gadget(first, "old"))
    for versions, stored in (
        ([version("v1"), version("v2", storage=False)], ["v1"]),
        ([version("v1", storage=False), version("v2")], ["v1", "v2"]),
        ([version("v1", storage=False), version("v2")], ["v1", "v2"]),
    ):
        crd = await case.patch(CRDS, name, {"spec": {"versions": versions}})
        assert crd["status"]["storedVersions"] == stored
    await answers(client, second)
    assert (await case.get(second, "old"))["spec"] == made["spec"]
    assert (await case.get(first, "old"))["spec"] == made["spec"]
    await case.create(second, gadget(second, "new"))
    assert await case.names(first) == ["new", "old"]
    assert (await case.patch(second, "old", {"spec": {"size": 4}}))["spec"]["size"] == 4
    with refused("Invalid"):
        await case.patch(CRDS, name, {"spec": {"versions": [version("v2")]}})
    for given in (["v1"], ["v2"]):
        crd = await case.patch(CRDS, name, {"status": {"storedVersions": given}}, subresource="status")
        assert crd["status"]["storedVersions"] == given
    crd = await case.patch(CRDS, name, {"spec": {"versions": [version("v2")]}})
    assert crd["status"]["storedVersions"] == ["v2"]
    assert await case.names(second) == ["new", "old"]


async def test_rules_judge_values_and_changes(case: Conversation, client: Client) -> None:
    spec = {
        **SPEC,
        "x-kubernetes-validations": [
            {"rule": "self.size <= self.replicas * 3", "message": "too big for so few"},
            {
                "rule": "!has(self.label) || self.label != self.colour",
                "messageExpression": "'label is the colour ' + self.colour",
                "reason": "FieldValueForbidden",
                "fieldPath": ".label",
            },
            {"rule": "self.colour == oldSelf.colour"},
        ],
    }
    resource = await served(client, case.namespace, version(spec=spec))
    with refused("Invalid", 'spec: Invalid value: "object": too big for so few'):
        await case.create(resource, gadget(resource, "one", size=4))
    with refused("Invalid", "spec.label: Forbidden: label is the colour red"):
        await case.create(resource, gadget(resource, "one", label="red"))
    await case.create(resource, gadget(resource, "one"))
    with refused("Invalid", 'spec: Invalid value: "object": failed rule: self.colour == oldSelf.colour'):
        await case.patch(resource, "one", {"spec": {"colour": "blue"}})


async def test_a_stricter_schema_spares_what_does_not_change(case: Conversation, client: Client) -> None:
    resource = await served(client, case.namespace)
    await case.create(resource, gadget(resource, "one", size=9))
    strict = version()
    strict["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"]["maximum"] = 5
    crd = await client.get(CRDS, f"gadgets.{resource.group}")
    await client.replace(CRDS, {**crd, "spec": {**crd["spec"], "versions": [strict]}})
    large = gadget(resource, "two", size=9)
    await case.settled(resource, large, lambda found: "refused" in found)
    with refused("Invalid"):
        await case.create(resource, large)
    kept = await case.patch(resource, "one", {"spec": {"label": "abc"}})
    assert kept["spec"]["size"] == 9
    with refused("Invalid"):
        await case.patch(resource, "one", {"spec": {"size": 8}})


async def test_a_definition_takes_its_instances_along(case: Conversation, client: Client) -> None:
    resource = await served(client, case.namespace)
    held = gadget(resource, "held")
    held["metadata"]["finalizers"] = ["wire.test/a"]
    await case.create(resource, held)
    await case.create(resource, gadget(resource, "free"))
    name = f"gadgets.{resource.group}"
    await case.delete(CRDS, name)
    await case.until(resource, "held", lambda found: "deletionTimestamp" in found["metadata"])
    await case.gone(resource, "free")
    going = await case.until(CRDS, name, condition("Terminating", "True"))
    assert going["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    await case.patch(resource, "held", {"metadata": {"finalizers": None}})
    await case.gone(CRDS, name)


async def test_a_kind_whose_names_are_taken_is_not_established(case: Conversation, client: Client) -> None:
    resource = await served(client, case.namespace)
    rival = definition(resource.group)
    rival["metadata"]["name"] = f"widgets.{resource.group}"
    rival["spec"]["names"] = {"plural": "widgets", "singular": "gadget", "kind": "Gadget"}
    await case.create(CRDS, rival)
    waiting = await case.until(CRDS, f"widgets.{resource.group}", condition("NamesAccepted", "False"))
    assert condition("Established", "False")(waiting)


async def test_a_definition_must_be_sound(case: Conversation) -> None:
    group = group_of(case.namespace)
    sound = definition(group)
    for path, value in {
        "metadata.name": f"things.{group}",
        "spec.group": "not a group",
        "spec.scope": "Everywhere",
        "spec.names.kind": "not a kind",
        "spec.names.plural": "Upper",
        "spec.versions": [],
        "spec.versions.0.storage": False,
        "spec.versions.0.name": "Version 1",
        "spec.versions.0.schema": None,
        "spec.versions.0.schema.openAPIV3Schema.type": "string",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec": {"properties": {"a": {}}},
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.size.default": "text",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.label.pattern": "(",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.parts.x-kubernetes-list-map-keys": [],
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.x-kubernetes-validations": [{"rule": "self.nope == 1"}],
        "spec.versions.0.subresources.scale.specReplicasPath": "replicas",
        "spec.versions.0.additionalPrinterColumns": [{"name": "A", "type": "colour", "jsonPath": "a"}],
        "spec.conversion": {"strategy": "Webhook"},
    }.items():
        with refused("Invalid"):
            await case.create(CRDS, changed(sound, path, value))


async def test_a_definition_keeps_its_scope_and_names(case: Conversation, client: Client) -> None:
    resource = await served(client, case.namespace)
    name = f"gadgets.{resource.group}"
    for patch in (
        {"spec": {"scope": "Cluster"}},
        {"spec": {"group": "other.test"}},
        {"spec": {"names": {"plural": "things"}}},
    ):
        with refused("Invalid"):
            await case.patch(CRDS, name, patch)


def changed(obj: Object, path: str, value: object) -> Object:
    """A copy with another value at a path; None takes the field away."""
    head, _, rest = path.partition(".")
    if isinstance(obj, list):
        return [changed(item, rest, value) if str(at) == head else item for at, item in enumerate(obj)]
    if rest:
        return {**obj, head: changed(obj[head], rest, value)}
    return {key: item for key, item in {**obj, head: value}.items() if item is not None}
