"""Services: defaults, rules, and the addresses they are given."""

from collections.abc import Callable
from typing import Any

import pytest

from ingot.api.status import ApiError
from ingot.standalone.builtin import serviceips

Make = Callable[[str], Any]
PORT = {"port": 80}


def service(**spec: Any) -> dict[str, Any]:
    if "clusterIP" in spec:
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    return {"spec": {"ports": [PORT], **spec}}


def test_defaults_are_those_of_kubernetes(kind: Make) -> None:
    assert kind("services").filled(service())["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [], "clusterIP": "None"}, []),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
        (
            {"ports": [{"port": 80}, {"port": 81}]},
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            {"ports": [{"port": 0, "targetPort": 1}]},
            ["spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
        ),
        (
            {"clusterIP": "x"},
            ['spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
        ),
        (
            {"externalIPs": ["127.0.0.1"]},
            [
                'spec.externalIPs[0]: Invalid value: "127.0.0.1": '
                "may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ],
        ),
    ],
)
def test_faults(kind: Make, spec: dict[str, Any], expected: list[str]) -> None:
    assert kind("services").faults(service(**spec)) == expected


def test_every_service_gets_an_address_of_its_own(kind: Make) -> None:
    made: list[dict[str, Any]] = []
    for index in range(50):
        given = kind("services").filled({**service(), "metadata": {"name": f"s{index}"}})
        serviceips.allocate(given, made)
        made.append(given)
    found = [each["spec"]["clusterIP"] for each in made]
    assert len(set(found)) == 50
    assert "10.96.0.1" not in found
    assert made[0]["spec"]["ipFamilies"] == ["IPv4"]
    assert made[0]["spec"]["clusterIPs"] == [found[0]]


def test_the_single_address_becomes_the_list_of_them(kind: Make) -> None:
    given = kind("services").filled({"spec": {"ports": [PORT], "clusterIP": "None"}})
    assert "clusterIPs" not in given["spec"]
    serviceips.allocate(given, [])
    assert given["spec"]["clusterIPs"] == ["None"]


def test_a_service_made_anew_gets_its_address_back(kind: Make) -> None:
    first, second = kind("services").filled(service()), kind("services").filled(service())
    serviceips.allocate(first, [])
    serviceips.allocate(second, [])
    assert first["spec"]["clusterIP"] == second["spec"]["clusterIP"]


def test_an_address_that_is_taken_is_refused(kind: Make) -> None:
    taken = kind("services").filled(service(clusterIP="10.96.5.5"))
    with pytest.raises(ApiError) as caught:
        serviceips.allocate(kind("services").filled(service(clusterIP="10.96.5.5")), [taken])
    assert caught.value.code == 422
    assert "provided IP is already allocated" in caught.value.message


def test_node_ports_are_given_and_refused(kind: Make) -> None:
    first = kind("services").filled(service(type="NodePort"))
    serviceips.allocate(first, [])
    number = first["spec"]["ports"][0]["nodePort"]
    assert number in serviceips.NODE_PORTS
    second = kind("services").filled(service(type="NodePort", ports=[{"port": 80, "nodePort": number}]))
    with pytest.raises(ApiError, match="provided port is already allocated"):
        serviceips.allocate(second, [first])


def test_a_replaced_service_keeps_what_it_was_given(kind: Make) -> None:
    old = kind("services").filled(service(type="NodePort"))
    serviceips.allocate(old, [])
    new = kind("services").filled(service(type="NodePort"))
    serviceips.keep(new, old)
    assert new["spec"] == old["spec"]


def test_an_address_stands(kind: Make) -> None:
    given = service(clusterIP="10.96.5.5")

    def move(obj: dict[str, Any]) -> None:
        obj["spec"] |= {"clusterIP": "10.96.5.6", "clusterIPs": ["10.96.5.6"]}

    assert kind("services").changes(given, move) == [
        'spec.clusterIPs[0]: Invalid value: []string{"10.96.5.6"}: may not change once set'
    ]


def test_a_service_whose_endpoints_others_write_has_both_families(kind: Make) -> None:
    for selector, families in ((None, ["IPv4", "IPv6"]), ({"app": "web"}, ["IPv4"])):
        spec = {"clusterIP": "None", **({"selector": selector} if selector else {})}
        given = kind("services").filled(service(**spec))
        serviceips.allocate(given, [])
        assert given["spec"]["ipFamilies"] == families
