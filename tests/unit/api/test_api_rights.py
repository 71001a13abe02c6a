"""Which rights objects demand of whoever writes them: to clone from another namespace, to reach into a node (G10)."""

import pytest

from ingot.api import rights, user_roles
from ingot.api.demand import Demand
from ingot.api.lookup import answered
from ingot.api.object import Object, name_of
from ingot.api.template.roles import filling_role

VOLUMES, LINKS = "datavolumes.cdi.kubevirt.io", "datasources.cdi.kubevirt.io"
MACHINES, CONTENTS = "virtualmachines.kubevirt.io", "virtualmachinesnapshotcontents.snapshot.kubevirt.io"
GOLDEN = {"namespace": "golden", "name": "fedora"}
OWN = {"namespace": "here", "name": "fedora"}


def volume(**spec: object) -> Object:
    return {"spec": {"storage": {}, **spec}}


def machine(*volumes: Object, **volume_of_node: object) -> Object:
    volumes_of_guest = [{"name": "a", **volume_of_node}] if volume_of_node else []
    return {"spec": {"template": {"spec": {"volumes": volumes_of_guest}}, "dataVolumeTemplates": list(volumes)}}


def link(**source: object) -> Object:
    return {"spec": {"source": source}}


def demanded(key: str, new: Object, old: Object | None = None, **links: Object) -> list[Demand]:
    """What is demanded of who writes `new` into the namespace "here", where these DataSources are."""
    return answered(rights.demands(key, new, old, "here"), lambda _, namespace, name: links.get(f"{namespace}_{name}"))


def asked(key: str, new: Object, old: Object | None = None, **links: Object) -> list[str]:
    """The rights, each as verb, resource and place."""
    return [_text(each.attributes()) for each in demanded(key, new, old, **links)]


def _text(attributes: Object) -> str:
    resource = "/".join(each for each in (attributes["resource"], attributes["subresource"]) if each)
    return f"{attributes['verb']} {resource} in {attributes['namespace']} {attributes['name']}".strip()


CLONE = "create datavolumes/source in golden fedora"


@pytest.mark.parametrize("kind", ["pvc", "snapshot"])
def test_a_volume_that_clones_from_another_namespace_demands_the_right_there(kind):
    assert asked(VOLUMES, volume(source={kind: GOLDEN})) == [CLONE]
    assert asked(VOLUMES, volume(source={kind: OWN})) == []


@pytest.mark.parametrize("source", [{"http": {"url": "https://a"}}, {"blank": {}}, {"upload": {}}])
def test_what_is_not_cloned_demands_nothing(source):
    assert asked(VOLUMES, volume(source=source)) == []


def test_a_data_source_is_followed_to_what_is_cloned():
    reference = volume(sourceRef={"kind": "DataSource", "name": "link", "namespace": "links"})
    assert asked(VOLUMES, reference, links_link=link(pvc=GOLDEN)) == [CLONE]
    assert asked(VOLUMES, reference, links_link=link(snapshot=GOLDEN)) == [CLONE]
    assert asked(VOLUMES, reference, links_link=link(pvc=OWN)) == []
    further = {"links_link": link(dataSource={"namespace": "more", "name": "link"}), "more_link": link(pvc=GOLDEN)}
    assert asked(VOLUMES, reference, **further) == [CLONE]


def test_a_data_source_of_the_same_namespace_is_followed_too():
    reference = volume(sourceRef={"kind": "DataSource", "name": "link"})
    assert asked(VOLUMES, reference, here_link=link(pvc=GOLDEN)) == [CLONE]
    assert asked(VOLUMES, reference, here_link=link(pvc=OWN)) == []
    assert asked(VOLUMES, reference) == []


def test_a_data_source_that_leads_nowhere_yet_demands_its_whole_namespace():
    reference = volume(sourceRef={"kind": "DataSource", "name": "link", "namespace": "links"})
    assert asked(VOLUMES, reference) == ["create datavolumes/source in links"]
    assert asked(VOLUMES, reference, links_link=link()) == ["create datavolumes/source in links"]
    circle = {"links_link": link(dataSource={"namespace": "links", "name": "link"})}
    assert asked(VOLUMES, reference, **circle) == ["create datavolumes/source in links"]


def test_whoever_points_a_data_source_elsewhere_needs_the_right_there():
    """Or a volume could be made from a link to one's own, and the link be moved before it is followed."""
    assert asked(LINKS, link(pvc=GOLDEN)) == [CLONE]
    assert asked(LINKS, link(pvc=OWN)) == []
    assert asked(LINKS, link(pvc=GOLDEN), link(pvc=OWN)) == [CLONE]
    assert asked(LINKS, link(pvc=GOLDEN), link(pvc=GOLDEN)) == []
    assert asked(LINKS, link()) == []
    followed = link(dataSource={"namespace": "links", "name": "link"})
    assert asked(LINKS, followed, links_link=link(snapshot=GOLDEN)) == [CLONE]


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "VolumeSnapshot"])
def test_whoever_writes_down_what_a_volume_clones_needs_the_right_there(kind):
    """What its status says is cloned, wherever its DataSource leads meanwhile."""
    plain = volume(source={"pvc": OWN})
    noted = {**plain, "status": {"origin": {"kind": kind, **GOLDEN}}}
    assert asked(VOLUMES, noted, plain) == [CLONE]
    assert asked(VOLUMES, noted, {**plain, "status": {"origin": {"kind": kind, **OWN}}}) == [CLONE]
    assert asked(VOLUMES, {**noted, "metadata": {"labels": {}}}, noted) == []
    assert asked(VOLUMES, plain, noted) == []
    assert asked(VOLUMES, {**plain, "status": {"origin": {"kind": kind, **OWN}}}, plain) == []


def test_the_templates_of_a_machine_demand_what_volumes_do():
    one, two = volume(source={"pvc": OWN}), volume(source={"pvc": GOLDEN})
    assert asked(MACHINES, machine(one, two)) == [CLONE]
    assert asked(MACHINES, machine(two), machine(one, two)) == []
    assert asked(MACHINES, machine(one, two), machine(one)) == [CLONE]


def test_a_machine_demands_for_its_disks_and_its_templates():
    both = machine(volume(source={"pvc": GOLDEN}), hostDisk={"path": "/etc/shadow"})
    assert asked(MACHINES, both) == ["use hostdisks in here", CLONE]


def test_the_machine_in_a_snapshot_demands_as_much():
    kept = {"spec": {"source": {"virtualMachine": machine(volume(source={"pvc": GOLDEN}), hostDisk={"path": "/a"})}}}
    assert asked(CONTENTS, kept) == ["use hostdisks in here", CLONE]
    assert asked(CONTENTS, kept, kept) == []
    assert asked(CONTENTS, {"spec": {"source": {}}}) == []


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"spec": None},
        {"spec": {"source": 1, "sourceRef": []}},
        {"spec": {"source": {"pvc": 1}}},
        {"status": {"origin": 1}},
    ],
)
@pytest.mark.parametrize("key", rights.KINDS)
def test_what_no_schema_has_seen_yet_is_passed_over(key, odd):
    assert asked(key, odd, odd) == []
    assert asked(key, odd) == []


def test_a_refusal_names_field_source_right_and_cure():
    [demand] = demanded(VOLUMES, volume(source={"pvc": GOLDEN}))
    error = demand.refusal("cdi.kubevirt.io", "datavolumes", "it", "jane")
    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'datavolumes.cdi.kubevirt.io "it" is forbidden: spec.source.pvc clones persistentvolumeclaims "fedora" of '
        'another namespace: User "jane" needs the verb "create" on resource "datavolumes/source" in API group '
        '"cdi.kubevirt.io" in the namespace "golden", which an administrator of the cluster can grant by a Role; '
        "a source in the same namespace needs no such right"
    )


@pytest.mark.parametrize("source", [None, {}, {"pvc": GOLDEN}, {"dataSource": {"namespace": "links", "name": "more"}}])
@pytest.mark.parametrize("own", [False, True])
def test_a_refusal_does_not_tell_where_a_data_source_of_another_namespace_leads(source, own):
    """Nor whether it is there: who is refused need not be somebody who may read it."""
    links = {} if source is None else {"links_link": link(**source)}
    reference = {"kind": "DataSource", "namespace": "links", "name": "link"}
    if own:
        links["here_link"] = link(dataSource={"namespace": "links", "name": "link"})
        reference["namespace"] = "here"
    [demand] = demanded(VOLUMES, volume(sourceRef=reference), **links)
    assert demand.refusal("cdi.kubevirt.io", "datavolumes", "it", "jane").message == (
        'datavolumes.cdi.kubevirt.io "it" is forbidden: spec.sourceRef clones datasources "link" of another namespace: '
        'User "jane" needs the verb "create" on resource "datavolumes/source" in API group "cdi.kubevirt.io" in the '
        'namespace "links" and in that of what it leads to, which an administrator of the cluster can grant by a Role; '
        "a source in the same namespace needs no such right"
    )


def test_a_refusal_tells_where_a_data_source_of_the_same_namespace_leads():
    [demand] = demanded(VOLUMES, volume(sourceRef={"kind": "DataSource", "name": "link"}), here_link=link(pvc=GOLDEN))
    message = demand.refusal("cdi.kubevirt.io", "datavolumes", "it", "jane").message
    assert 'spec.sourceRef clones persistentvolumeclaims "fedora" of another namespace' in message
    assert 'in the namespace "golden", which' in message


def verbs(role: str, resource: str) -> set[str]:
    found = [each for each in (*user_roles.cluster_roles(), filling_role()) if name_of(each) == role]
    return {verb for each in found for rule in each["rules"] if resource in rule["resources"] for verb in rule["verbs"]}


@pytest.mark.parametrize("role", ["admin", "edit", "view"])
def test_whoever_views_a_namespace_may_clone_from_it(role):
    """As with CDI, where golden images are opened by a binding to view."""
    assert verbs(f"cdi.kubevirt.io:{role}", "datavolumes/source") == {"create"}


def test_who_edits_fills_volumes_and_who_views_looks_on():
    for plural in ("datavolumes", "datasources", "dataimportcrons", "volumeimportsources", "volumesnapshots"):
        assert "create" in verbs("cdi.kubevirt.io:edit", plural)
        assert verbs("cdi.kubevirt.io:view", plural) == {"get", "list", "watch"}
    assert verbs("cdi.kubevirt.io:edit", "uploadtokenrequests") == {"create"}
    assert verbs("cdi.kubevirt.io:view", "uploadtokenrequests") == set()


def test_who_edits_fills_templates_in_and_who_views_looks_at_them():
    assert verbs("template.openshift.io:fill", "processedtemplates") == {"create"}
    assert filling_role()["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert "create" in verbs("template.openshift.io:edit", "templates")
    assert verbs("template.openshift.io:view", "templates") == {"get", "list", "watch"}


def test_a_cluster_gets_no_right_to_what_is_served_on_one_machine_alone():
    rules = [rule for each in user_roles.cluster_roles() for rule in each["rules"]]
    assert not any("processedtemplates" in rule["resources"] for rule in rules)


def test_nobody_writes_what_snapshots_hold():
    assert "create" in verbs("kubevirt.io:edit", "virtualmachinerestores")
    assert verbs("kubevirt.io:admin", "virtualmachinesnapshotcontents").isdisjoint({"create", "update", "patch", "*"})


def test_the_roles_are_gathered_by_those_of_the_cluster():
    for each in user_roles.cluster_roles():
        word = name_of(each).split(":")[1]
        gathered = each["metadata"]["labels"].get(f"rbac.authorization.k8s.io/aggregate-to-{word}")
        assert (gathered == "true") == (word in ("admin", "edit", "view"))
