"""`ingot delete` against a live API server."""

from pathlib import Path

import pytest

from wire.cli import Ingot, config_map, write_as_other


def test_deleted_objects_are_gone_when_the_command_returns(ingot: Ingot) -> None:
    ingot.apply(config_map("one", {"app": "a"}), config_map("two", {"app": "a"}), config_map("three"))
    assert ingot("delete", "cm", "--selector", "app=a").stdout == "configmap/one deleted\nconfigmap/two deleted\n"
    assert ingot("delete", "cm/three", "cm/nope", code=1).stdout == "configmap/three deleted\n"
    assert ingot("delete", "cm", "nope", "--ignore-not-found").stdout == ""
    assert "which configmaps?" in ingot("delete", "cm", code=2).stderr


def test_a_deletion_that_is_held_up_says_by_what(ingot: Ingot, kubeconfig: Path) -> None:
    held = config_map("held")
    held["metadata"]["finalizers"] = ["cli.test/hold"]
    ingot.apply(held)
    result = ingot("delete", "cm", "held", "--timeout", "300ms", code=1)
    assert "cli.test/hold" in result.stderr
    assert ingot("delete", "cm", "held", "--no-wait").stdout == "configmap/held marked for deletion\n"
    assert "cli.test/hold" in ingot("wait", "cm/held", "--for", "delete", "--timeout", "0", code=1).stderr

    def release() -> None:
        write_as_other(kubeconfig, ingot.namespace, "held", {"metadata": {"finalizers": None}})

    done = ingot.wait("cm/held", "delete", release)
    assert (done.returncode, done.stdout) == (0, "configmap/held deleted\n")


@pytest.mark.parametrize(("cascade", "left"), [("background", False), ("foreground", False), ("orphan", True)])
def test_what_an_object_owns_goes_or_stays(ingot: Ingot, cascade: str, left: bool) -> None:
    ingot.apply(config_map("owner"))
    uid = ingot.json("get", "cm", "owner")["metadata"]["uid"]
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "blockOwnerDeletion": True}
    ]
    ingot.apply(child)
    assert ingot("delete", "cm", "owner", "--cascade", cascade).stdout == "configmap/owner deleted\n"
    if left:
        assert "ownerReferences" not in ingot.json("get", "cm", "child")["metadata"]
    else:
        ingot("wait", "cm/child", "--for", "delete", "--timeout", "20s")
