"""`ingot wait` against a live API server."""

from pathlib import Path

from wire.cli import Ingot, config_map, write_as_other


def test_waiting_for_a_condition_sees_the_change(ingot: Ingot) -> None:
    seen = ingot("wait", f"namespace/{ingot.namespace}", "--for", "jsonpath={.status.phase}=Active")
    assert seen.stdout == f"namespace/{ingot.namespace} condition met\n"
    crds = ingot("get", "crd", "-o", "name").stdout.split()
    if crds:
        assert "condition met" in ingot("wait", crds[0], "--for", "condition=Established").stdout
    late = ingot("wait", f"namespace/{ingot.namespace}", "--for", "condition=Ready", "--timeout", "200ms", code=1)
    assert "no condition Ready=True after 0.2 s" in late.stderr
    assert "waiting for condition Ready=True of namespace/" in late.stderr


def test_waiting_for_a_value_and_for_a_creation(ingot: Ingot, kubeconfig: Path) -> None:
    assert 'configmaps "new" not found' in ingot("wait", "cm/new", "--for", "condition=X", code=1).stderr
    done = ingot.wait("cm/new", "create", lambda: ingot.apply(config_map("new", phase="Young")))
    assert (done.returncode, done.stdout) == (0, "configmap/new created\n")

    def age() -> None:
        write_as_other(kubeconfig, ingot.namespace, "new", {"data": {"phase": "Old"}})

    done = ingot.wait("cm/new", "jsonpath={.data.phase}=Old", age)
    assert (done.returncode, done.stdout) == (0, "configmap/new condition met\n")
    assert ".data.phase is Young" in done.stderr


def test_an_object_that_goes_while_it_is_waited_for_ends_the_wait(ingot: Ingot) -> None:
    ingot.apply(config_map("short"))
    done = ingot.wait("cm/short", "condition=Ready", lambda: ingot("delete", "cm", "short"))
    assert done.returncode == 1
    assert 'configmaps "short" not found' in done.stderr
