"""Which node takes a pod, and the words in which the others do not."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.kube.cache import Cache, key_of
from ingot.standalone.scheduler.amounts import requests
from ingot.standalone.scheduler.filters import FILTERS
from ingot.standalone.scheduler.ledger import Ledger
from ingot.standalone.scheduler.neighbours import Neighbours
from ingot.standalone.scheduler.refusal import Refusal, on_each_node, on_every_node
from ingot.standalone.scheduler.scores import best
from ingot.standalone.scheduler.selectors import node_selected, selects
from machine.machine_support import a_node, a_pod

NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"


def pod(name: str = "p", **options: Any) -> Object:
    made = a_pod("ns", name, **options)
    made["metadata"]["uid"] = f"uid-{name}"
    return made


def why_not(wanted: Object, node: Object, ledger: Ledger | None = None) -> tuple[str, ...]:
    for each in FILTERS:
        if refusal := each(wanted, node, ledger or Ledger()):
            return refusal.reasons
    return ()


def required(*terms: Object) -> Object:
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}},
    }


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["ssd", "nvme"], True),
        ("In", ["hdd"], False),
        ("NotIn", ["hdd"], True),
        ("NotIn", ["ssd"], False),
        ("Exists", None, True),
        ("DoesNotExist", None, False),
    ],
)
def test_operators_on_labels(operator: str, values: list[str] | None, matches: bool) -> None:
    node = a_node("n", {"disk": "ssd"})
    expression = {"key": "disk", "operator": operator, **({"values": values} if values else {})}
    wanted = pod(affinity=required({"matchExpressions": [expression]}))
    assert why_not(wanted, node) == (() if matches else (NOT_SELECTED,))


@pytest.mark.parametrize(
    ("operator", "value", "matches"),
    [("Gt", "3", True), ("Gt", "4", False), ("Lt", "5", True), ("Lt", "4", False), ("Gt", "x", False)],
)
def test_labels_compared_as_numbers(operator: str, value: str, matches: bool) -> None:
    term = {"matchExpressions": [{"key": "generation", "operator": operator, "values": [value]}]}
    assert node_selected({"nodeSelectorTerms": [term]}, a_node("n", {"generation": "4"})) is matches


def test_terms_are_alternatives_and_fields_name_the_node() -> None:
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    by_label = {"matchExpressions": [{"key": "absent", "operator": "Exists"}]}
    assert why_not(pod(affinity=required(by_label, by_name)), a_node("n")) == ()
    assert why_not(pod(affinity=required(by_label, by_name)), a_node("m")) == (NOT_SELECTED,)
    assert why_not(pod(affinity=required({})), a_node("n")) == (NOT_SELECTED,)


def test_a_node_selector_wants_all_its_labels() -> None:
    wanted = pod(nodeSelector={"a": "1", "b": "2"})
    assert why_not(wanted, a_node("n", {"a": "1", "b": "2"})) == ()
    assert why_not(wanted, a_node("n", {"a": "1"})) == (NOT_SELECTED,)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (None, False),
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_taints(toleration: Object | None, tolerated: bool) -> None:
    node = a_node("n", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
    wanted = pod(tolerations=[toleration] if toleration else [])
    assert why_not(wanted, node) == (() if tolerated else ("node(s) had untolerated taint {k: v}",))


def test_a_taint_that_only_discourages_keeps_nobody_away() -> None:
    assert why_not(pod(), a_node("n", taints=[{"key": "k", "effect": "PreferNoSchedule"}])) == ()


def test_a_cordoned_node_says_so() -> None:
    node = a_node("n")
    node["spec"]["unschedulable"] = True
    assert why_not(pod(), node) == ("node(s) were unschedulable",)
    assert why_not(pod(tolerations=[{"operator": "Exists"}]), node) == ()


def test_what_pods_ask_for_adds_up_and_is_given_back() -> None:
    ledger, node = Ledger(), a_node("n", cpu="1", **{"example.com/card": "1"})
    first = pod("a", requests={"cpu": "600m", "example.com/card": "1"})
    second = pod("b", requests={"cpu": "500m", "example.com/card": "1"})
    ledger.place(first, "n")
    assert why_not(second, node, ledger) == ("Insufficient cpu", "Insufficient example.com/card")
    ledger.place(first, "n")
    assert ledger.taken("n")["cpu"] == 600
    assert ledger.remove(first)
    assert not ledger.remove(first)
    assert why_not(second, node, ledger) == ()


def test_a_node_takes_so_many_pods() -> None:
    ledger, node = Ledger(), a_node("n", pods="1")
    ledger.place(pod("a"), "n")
    assert why_not(pod("b"), node, ledger) == ("Too many pods",)


def test_init_containers_run_before_and_sidecars_beside() -> None:
    def container(cpu: str, **more: str) -> Object:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    wanted = pod(
        initContainers=[container("100m", restartPolicy="Always"), container("900m")],
        overhead={"cpu": "10m"},
    )
    wanted["spec"]["containers"] = [container("300m"), container("400m")]
    # The init container beside the sidecar needs 1000m, all the others together 800m.
    assert requests(wanted) == {"cpu": 1010}
    wanted["spec"]["resources"] = {"requests": {"cpu": "2"}}
    assert requests(wanted) == {"cpu": 2010}


@pytest.mark.parametrize(
    ("taken", "wanted", "clash"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, True),
        ({"hostPort": 80}, {"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "0.0.0.0"}, True),  # noqa: S104
    ],
)
def test_ports_of_the_node(taken: Object, wanted: Object, clash: bool) -> None:
    ledger, first, second = Ledger(), pod("a"), pod("b")
    first["spec"]["containers"][0]["ports"] = [taken]
    second["spec"]["containers"][0]["ports"] = [wanted]
    ledger.place(first, "n")
    reasons = ("node(s) didn't have free ports for the requested pod ports",) if clash else ()
    assert why_not(second, a_node("n"), ledger) == reasons


def test_refusals_read_as_kube_schedulers() -> None:
    refusals = [
        Refusal((NOT_SELECTED,)),
        Refusal(("Insufficient cpu", "Too many pods"), True),
        Refusal((NOT_SELECTED,)),
    ]
    assert str(on_each_node(refusals)) == (
        "0/3 nodes are available: 1 Insufficient cpu, 1 Too many pods, 2 node(s) didn't match Pod's node "
        "affinity/selector. preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )
    assert str(on_every_node('persistentvolumeclaim "x" not found', 1)) == (
        '0/1 nodes are available: persistentvolumeclaim "x" not found. preemption: 0/1 nodes are available: '
        "1 Preemption is not helpful for scheduling."
    )
    assert str(on_each_node([])) == "no nodes available to schedule pods"


def test_the_preferred_node_is_best_then_the_emptiest_then_the_first() -> None:
    one, two = a_node("one"), a_node("two", {"disk": "ssd"})
    ledger = Ledger()
    assert best(pod(), [two, one], ledger) is one
    ledger.place(pod("a", requests={"cpu": "1"}), "one")
    assert best(pod(), [one, two], ledger) is two
    ledger.place(pod("b", requests={"cpu": "3"}), "two")
    preference = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    terms = [{"weight": 50, "preference": preference}]
    wishful = pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}})
    assert best(pod(), [one, two], ledger) is one
    assert best(wishful, [one, two], ledger) is two


def test_an_absent_selector_selects_nothing_and_an_empty_one_all() -> None:
    assert not selects(None, {"a": "1"})
    assert selects({}, {})


class Place:
    """Two nodes in one zone and one in another, and whoever is on them."""

    def __init__(self) -> None:
        self.nodes, namespaces = Cache(), Cache()
        for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
            node = a_node(name, {"zone": zone})
            self.nodes.put(key_of(node), node)
        for name, team in (("ns", "x"), ("other", "y")):
            namespace = {"metadata": {"name": name, "labels": {"team": team}}}
            namespaces.put(key_of(namespace), namespace)
        self.ledger = Ledger()
        self.neighbours = Neighbours(self.ledger, self.nodes, namespaces)

    def put(self, name: str, node: str, labels: Object, namespace: str = "ns", **spec: Any) -> None:
        placed = pod(name, **spec)
        placed["metadata"] |= {"labels": labels, "namespace": namespace}
        self.ledger.place(placed, node)

    def open_to(self, wanted: Object) -> list[str]:
        nodes = self.nodes.list()
        return [node["metadata"]["name"] for node in nodes if not self.neighbours.refusal(wanted, node)]


def near(kind: str, labels: Object, **more: Any) -> Object:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}, **more}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_pods_go_where_those_are_whom_they_want() -> None:
    place = Place()
    place.put("db", "a1", {"app": "db"})
    assert place.open_to(pod(affinity=near("podAffinity", {"app": "db"}))) == ["a1", "a2"]
    assert place.open_to(pod(affinity=near("podAntiAffinity", {"app": "db"}))) == ["b1"]
    assert place.open_to(pod(affinity=near("podAffinity", {"app": "nobody"}))) == []


def test_the_first_of_a_group_may_begin_anywhere() -> None:
    wanted = pod(affinity=near("podAffinity", {"app": "web"}))
    wanted["metadata"]["labels"] = {"app": "web"}
    assert Place().open_to(wanted) == ["a1", "a2", "b1"]


def test_those_who_are_there_keep_others_away() -> None:
    place = Place()
    place.put("hermit", "b1", {}, affinity=near("podAntiAffinity", {"loud": "yes"}))
    wanted = pod()
    wanted["metadata"]["labels"] = {"loud": "yes"}
    assert place.open_to(wanted) == ["a1", "a2"]


def test_neighbours_are_of_the_own_namespace_unless_others_are_named() -> None:
    place = Place()
    place.put("db", "a1", {"app": "db"}, namespace="other")
    assert place.open_to(pod(affinity=near("podAffinity", {"app": "db"}))) == []
    assert place.open_to(pod(affinity=near("podAffinity", {"app": "db"}, namespaces=["other"]))) == ["a1", "a2"]
    by_label = {"matchLabels": {"team": "y"}}
    assert place.open_to(pod(affinity=near("podAffinity", {"app": "db"}, namespaceSelector=by_label))) == ["a1", "a2"]
