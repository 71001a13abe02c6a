"""kubectl as people use it: to learn what there is and what they may do."""

from ingot.kube.client import Client
from wire.customs import served
from wire.shell import Terminal

KINDS = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "leases.coordination.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "storageclasses.storage.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
)


async def test_api_resources_names_kinds(terminal: Terminal) -> None:
    def known(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if line in KINDS)

    output = await terminal("api-resources -o name", view=known)
    assert set(known(output.out).splitlines()) == set(KINDS)


async def test_api_resources_has_short_names_and_verbs(terminal: Terminal) -> None:
    def of_interest(text: str) -> str:
        wanted = ("configmaps ", "persistentvolumeclaims ", "pods ", "namespaces ", "leases ")
        return "\n".join(line for line in text.splitlines() if line.startswith(wanted))

    output = await terminal("api-resources -o wide --sort-by=name", view=of_interest)
    assert "cm" in output.out.split()


async def test_api_versions_has_the_groups(terminal: Terminal) -> None:
    def stable(text: str) -> str:
        return "\n".join(
            line for line in text.splitlines() if line in ("v1", "storage.k8s.io/v1", "coordination.k8s.io/v1")
        )

    output = await terminal("api-versions", view=stable)
    assert stable(output.out).splitlines() == ["coordination.k8s.io/v1", "storage.k8s.io/v1", "v1"]


def without_prose(text: str) -> str:
    """What explain says of kinds, fields, types and values; what it tells of them is Kubernetes' own prose."""
    told = [line for line in text.splitlines() if line.strip() and (not line.startswith("   ") or "\t<" in line)]
    return "\n".join(told)


async def test_explain_reads_the_schema(terminal: Terminal) -> None:
    for target in ("configmap", "configmap.data", "pvc.spec.resources"):
        assert (await terminal(f"explain {target}", view=without_prose)).code == 0, target
    assert (await terminal("explain configmap.nothing")).code == 1
    assert (await terminal("explain unicorn")).code == 1
    await terminal("explain lease.spec --recursive", view=without_prose)


async def test_explain_lists_the_values_of_a_field(terminal: Terminal) -> None:
    output = await terminal("explain pod.spec.containers.imagePullPolicy", view=without_prose)
    assert "IfNotPresent" in output.out


async def test_explain_reads_the_schema_of_a_custom_kind(terminal: Terminal, client: Client, namespace: str) -> None:
    resource = await served(client, namespace)
    version = f"--api-version={resource.api_version}"
    await terminal.until(f"explain gadgets {version}", lambda output: output.code == 0, view=without_prose)
    output = await terminal(f"explain gadgets.spec.parts {version}", view=without_prose)
    assert "count" in output.out
    await terminal(f"explain gadgets.spec.colour {version}", view=without_prose)


async def test_permissions_can_be_asked_for(terminal: Terminal) -> None:
    assert (await terminal("auth can-i create pods")).out == "yes\n"
    refused = await terminal("auth can-i create pods --as=jane")
    assert (refused.code, refused.out) == (1, "no\n")
    await terminal("auth can-i get /healthz --as=jane --as-group=system:authenticated")
    await terminal("auth can-i list pods --subresource=log --as=jane")


async def test_permissions_are_listed(terminal: Terminal) -> None:
    output = await terminal("auth can-i --list --as=jane --as-group=system:authenticated", view=sorted_lines)
    assert "selfsubjectaccessreviews.authorization.k8s.io" in output.out


def sorted_lines(text: str) -> str:
    return "\n".join(sorted(text.splitlines()))


async def test_who_am_i(terminal: Terminal) -> None:
    output = await terminal("auth whoami --as=jane --as-group=developers -o jsonpath='{.status.userInfo.username}'")
    assert output.out == "jane"
    await terminal("auth whoami --as=jane --as-group=developers")


async def test_a_token_is_made_for_an_account(terminal: Terminal) -> None:
    output = await terminal("create token default --duration=1h")
    assert output.out.count(".") == 2
    assert (await terminal("create token nobody")).code == 1


async def test_a_user_without_rights_is_told_so(terminal: Terminal) -> None:
    for command in ("get pods", "get nodes", "create configmap one", "delete pod one", "get pods -w"):
        assert (await terminal(f"{command} --as=jane")).code == 1, command


async def test_the_servers_version_is_shown(terminal: Terminal) -> None:
    def server_line(text: str) -> str:
        return next(line for line in text.splitlines() if line.startswith("Server Version"))

    output = await terminal("version", view=server_line)
    assert server_line(output.out).startswith("Server Version: v1.32.13")


async def test_the_server_says_where_it_is(terminal: Terminal) -> None:
    output = await terminal("cluster-info")
    assert "is running at" in output.out
