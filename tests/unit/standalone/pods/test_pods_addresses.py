"""Addresses of pods: one for each, kept for life, out of 127.0.0.0/8."""

import socket
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from ingot.standalone.pods import addresses
from ingot.standalone.pods.addresses import Addresses
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.downward import address_of, addressed, field


def pod(uid: str, *images: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images or ("ingot",))]
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": uid},
        "spec": {"containers": containers, **spec},
    }


def test_each_pod_has_an_address_of_its_own_on_which_it_can_listen(tmp_path: Path) -> None:
    given = Addresses(tmp_path)
    found = {given.of(pod(f"u{number}")) for number in range(200)}
    assert len(found) == 200
    assert all(ip_address(each) in ip_network("127.0.0.0/8") for each in found)
    assert "127.0.0.1" not in found
    one, other = socket.create_server((found.pop(), 0)), socket.socket()
    with one, other:
        # The same port of another address is free.
        other.bind((found.pop(), one.getsockname()[1]))


def test_an_address_stays_whoever_runs_the_pod(tmp_path: Path) -> None:
    before = Addresses(tmp_path).of(pod("u"))
    assert Addresses(tmp_path).of(pod("u")) == before
    given = Addresses(tmp_path)
    given.forget("u")
    assert given.of(pod("u")) == before


def test_two_that_would_have_the_same_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses.hashlib, "sha256", lambda _: type("Same", (), {"digest": lambda _: b"\xff" * 32})())
    given = Addresses(tmp_path)
    one, two = given.of(pod("one")), given.of(pod("two"))
    assert one != two
    # A later process knows what is taken.
    assert Addresses(tmp_path).of(pod("three")) not in (one, two)
    PodDirectory(tmp_path, "one").remove()
    given.forget("one")
    assert given.of(pod("four")) == one


@pytest.mark.parametrize(
    "other",
    [
        pod("u", hostNetwork=True),
        pod("u", "docker.io/library/nginx"),
        pod("u", "ingot", "docker.io/library/nginx"),
        pod("u", initContainers=[{"name": "i", "image": "nginx"}]),
    ],
    ids=["host network", "foreign", "partly foreign", "foreign init container"],
)
def test_others_have_the_machines(tmp_path: Path, other: dict[str, Any]) -> None:
    assert Addresses(tmp_path).of(other) == "127.0.0.1"
    assert list(tmp_path.iterdir()) == []


def test_a_pod_is_told_its_address(tmp_path: Path) -> None:
    mine = addressed(pod("u"), "127.64.1.2")
    assert field(mine, "status.podIP") == field(mine, "status.podIPs") == address_of(mine) == "127.64.1.2"
    assert field(mine, "status.hostIP") == "127.0.0.1"
    assert address_of(pod("u")) == "127.0.0.1"
