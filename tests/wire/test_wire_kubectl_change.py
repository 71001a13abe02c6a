"""kubectl as people use it: to change things."""

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from wire.customs import gadget, shared
from wire.kinds import CONFIG_MAPS, NODES, PODS, config_map, pod
from wire.shell import Terminal


async def test_apply_creates_configures_and_leaves_alone(terminal: Terminal) -> None:
    first = config_map("one", {"x": "y"}, a="1", b="2")
    assert (await terminal("apply -f -", stdin=first)).out == "configmap/one created\n"
    assert (await terminal("apply -f -", stdin=first)).out == "configmap/one unchanged\n"
    assert (await terminal("apply -f -", stdin=config_map("one", b="3"))).out == "configmap/one configured\n"
    assert (await terminal("get configmap one -o jsonpath='{.data}'")).out == '{"b":"3"}'
    await terminal("get configmap one -o jsonpath='{.metadata.labels}'")


async def test_apply_takes_several_documents(terminal: Terminal) -> None:
    text = "---\n".join(f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: {name}}}\n" for name in ("a", "b"))
    output = await terminal("apply -f -", stdin=text)
    assert output.out == "configmap/a created\nconfigmap/b created\n"


async def test_apply_of_custom_kinds(terminal: Terminal, client: Client, namespace: str) -> None:
    resource = await shared(client)
    await terminal("apply -f -", stdin=gadget(resource, "one", parts=[{"name": "a"}, {"name": "b"}]))
    await terminal("apply -f -", stdin=gadget(resource, "one", parts=[{"name": "b"}]))
    output = await terminal(f"get gadgets.{resource.group} one -o jsonpath='{{.spec.parts}}'")
    assert output.out == '[{"count":1,"name":"b"}]'


async def test_apply_prunes_what_is_no_longer_there(terminal: Terminal) -> None:
    both = [config_map("a", {"of": "case"}), config_map("b", {"of": "case"})]
    await terminal("apply -f - -l of=case", stdin=both)
    output = await terminal("apply -f - -l of=case --prune --prune-allowlist=core/v1/ConfigMap", stdin=both[:1])
    assert "configmap/b pruned" in output.out


async def test_apply_on_the_server_tells_of_conflicts(terminal: Terminal) -> None:
    assert (await terminal("apply --server-side -f -", stdin=config_map("one", a="1"))).code == 0
    rival = config_map("one", a="2")
    conflict = await terminal("apply --server-side --field-manager=rival -f -", stdin=rival)
    assert conflict.code == 1
    assert 'conflict with "kubectl": .data.a' in conflict.err
    forced = await terminal("apply --server-side --field-manager=rival --force-conflicts -f -", stdin=rival)
    assert forced.out == "configmap/one serverside-applied\n"


async def test_apply_moves_from_the_client_to_the_server(terminal: Terminal) -> None:
    await terminal("apply -f -", stdin=config_map("one", a="1", b="2"))
    await terminal("apply --server-side -f -", stdin=config_map("one", a="1"))
    assert (await terminal("get configmap one -o jsonpath='{.data}'")).out == '{"a":"1"}'


async def test_diff_shows_what_would_change(terminal: Terminal) -> None:
    await terminal("apply -f -", stdin=config_map("one", a="1"))
    same = await terminal("diff -f -", stdin=config_map("one", a="1"))
    assert (same.code, same.out) == (0, "")
    other = await terminal("diff -f -", stdin=config_map("one", a="2"), view=changed_lines)
    assert other.code == 1
    assert changed_lines(other.out) == '-  a: "1"\n+  a: "2"'


def changed_lines(text: str) -> str:
    marked = [line for line in text.splitlines() if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    return "\n".join(line for line in marked if "resourceVersion" not in line and "generation" not in line)


async def test_bad_manifests_are_refused_with_the_field(terminal: Terminal, client: Client, namespace: str) -> None:
    resource = await shared(client)
    manifests: list[object] = [
        {**config_map("one"), "surprise": 1},
        {**config_map("one"), "data": {"a": 1}},
        {**pod("one"), "spec": {"containers": [{"name": "a", "imag": "b"}]}},
        gadget(resource, "one", surprise=1),
        gadget(resource, "one", colour="pink"),
        {**config_map("one"), "kind": "Unicorn"},
        {**config_map("one"), "apiVersion": "v7"},
        {"metadata": {"name": "one"}},
        "not: [yaml",
        config_map("Not A Name"),
    ]
    for manifest in manifests:
        assert (await terminal("create -f -", stdin=manifest)).code == 1, manifest


async def test_dry_runs_change_nothing(terminal: Terminal) -> None:
    for mode in ("server", "client"):
        await terminal(f"apply -f - --dry-run={mode}", stdin=config_map("one", a="1"))
    assert (await terminal("get configmap one")).code == 1


async def test_labels_and_annotations(terminal: Terminal, client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, placed(config_map("one"), namespace))
    await terminal("label configmap one tier=web")
    assert (await terminal("label configmap one tier=db")).code == 1
    await terminal("label configmap one tier=db --overwrite")
    await terminal("label configmap one tier-")
    await terminal("annotate configmap one wire.test/note=hello")
    output = await terminal("get configmap one -o jsonpath='{.metadata.annotations}'")
    assert output.out == '{"wire.test/note":"hello"}'
    assert (await terminal("label configmap one 'a=not a value'")).code == 1


def placed(obj: Object, namespace: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


async def test_patch_prints_what_it_did(terminal: Terminal, client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, placed(config_map("one", a="1"), namespace))
    await terminal("""patch configmap one -p '{"data":{"a":"2"}}'""")
    await terminal("""patch configmap one -p '{"data":{"a":"2"}}'""")
    await terminal("""patch configmap one --type=json -p '[{"op":"remove","path":"/data/b"}]'""")
    await terminal("patch configmap one -p nonsense")


async def test_replace_and_replace_by_force(terminal: Terminal) -> None:
    assert (await terminal("replace -f -", stdin=config_map("one"))).code == 1
    await terminal("create -f -", stdin=config_map("one", a="1"))
    assert (await terminal("replace -f -", stdin=config_map("one", a="2"))).out == "configmap/one replaced\n"
    output = await terminal("replace --force -f -", stdin=config_map("one", a="3"))
    assert output.out == 'configmap "one" deleted\nconfigmap/one replaced\n'


async def test_delete_says_what_it_deleted(terminal: Terminal, client: Client, namespace: str) -> None:
    for name in ("a", "b", "c"):
        await client.create(CONFIG_MAPS, placed(config_map(name, {"of": "case"}), namespace))
    assert (await terminal("delete configmap a")).out == 'configmap "a" deleted\n'
    assert (await terminal("delete configmap a")).code == 1
    assert (await terminal("delete configmap a --ignore-not-found")).code == 0
    assert (await terminal("delete configmaps -l of=case --dry-run=server")).code == 0
    await terminal("delete configmaps -l of=case")
    await terminal("delete configmaps -l of=case")


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
async def test_delete_cascades(terminal: Terminal, client: Client, namespace: str, cascade: str) -> None:
    owner = await client.create(CONFIG_MAPS, placed(config_map("owner"), namespace))
    dependent = placed(config_map("dependent"), namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    dependent["metadata"]["ownerReferences"] = [{**reference, "blockOwnerDeletion": True}]
    await client.create(CONFIG_MAPS, dependent)
    await terminal(f"delete configmap owner --cascade={cascade}")
    if cascade == "orphan":
        await terminal("get configmap dependent -o jsonpath='{.metadata.ownerReferences}'")
    else:
        await terminal("wait --for=delete configmap/dependent --timeout=20s")
        assert (await terminal("get configmap dependent")).code == 1


async def test_wait_for_what_is_said(terminal: Terminal, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one"), namespace))
    assert (await terminal("wait --for=condition=Ready pod/one --timeout=100ms")).code == 1
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(PODS, "one", status, namespace, subresource="status")
    assert (await terminal("wait --for=condition=Ready pod/one --timeout=20s")).out == "pod/one condition met\n"
    await terminal("wait --for=jsonpath='{.status.phase}'=Running pod/one --timeout=20s")
    await terminal("wait --for=create pod/one --timeout=20s")


async def test_scale_of_a_custom_kind(terminal: Terminal, client: Client, namespace: str) -> None:
    resource = await shared(client)
    await client.create(resource, placed(gadget(resource, "one"), namespace))
    target = f"gadgets.{resource.group} one"
    await terminal(f"scale {target} --replicas=3")
    assert (await terminal(f"scale {target} --replicas=5 --current-replicas=1")).code == 1
    assert (await terminal(f"get {target} -o jsonpath='{{.spec.replicas}}'")).out == "3"
    assert (await terminal("scale configmap one --replicas=3")).code == 1


async def test_create_from_the_command_line(terminal: Terminal) -> None:
    for command in (
        "create configmap one --from-literal=a=1",
        "create secret generic two --from-literal=a=1",
        "create serviceaccount three",
        "create role four --verb=get --resource=pods",
        "create rolebinding five --role=four --serviceaccount=default:three",
        "create service clusterip six --clusterip=None",
    ):
        assert (await terminal(command)).code == 0, command
    assert (await terminal("create configmap one --from-literal=a=1")).code == 1


async def test_run_makes_a_pod(terminal: Terminal) -> None:
    assert (await terminal("run web --image=registry.test/app:1 --restart=Never")).out == "pod/web created\n"
    output = await terminal("get pod web -o jsonpath='{.spec.restartPolicy} {.status.phase}'")
    assert output.out == "Never Pending"


async def test_set_image_and_env(terminal: Terminal, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one"), namespace))
    assert (await terminal("set image pod/one main=registry.test/app:2")).code == 0
    output = await terminal("get pod one -o jsonpath='{.spec.containers[*].image}'")
    assert output.out == "registry.test/app:2"


async def test_nodes_are_cordoned_and_tainted(terminal: Terminal, client: Client, namespace: str) -> None:
    name = f"{namespace}-node"
    await client.create(NODES, {"metadata": {"name": name}})
    await terminal(f"cordon {name}")
    await terminal(f"taint node {name} wire.test/only=this:NoSchedule")
    output = await terminal(f"get node {name} -o jsonpath='{{.spec.unschedulable}} {{.spec.taints[*].key}}'")
    assert output.out.startswith("true")
    assert "wire.test/only" in output.out
    await terminal(f"uncordon {name}")
    await terminal(f"get node {name}")
    await client.delete(NODES, name)


async def test_a_pod_is_evicted(terminal: Terminal, client: Client, namespace: str) -> None:
    await client.create(PODS, placed(pod("one"), namespace))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one", "namespace": namespace}}
    path = PODS.path(namespace, "one", "eviction")
    output = await terminal(f"create --raw {path} -f -", stdin=eviction)
    assert '"status":"Success"' in output.out
    assert (await terminal("get pod one")).code == 1
