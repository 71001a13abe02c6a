"""What a role gathers is written into it."""

from typing import Any

from ingot.standalone.access.bindings import CLUSTER_ROLES
from ingot.standalone.lifecycle.roles import Roles

Scene = Any
GATHER = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}}


def rule(resource: str) -> dict[str, list[str]]:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


async def test_rules_follow_the_roles_that_are_gathered(scene: Scene) -> None:
    def gathered() -> list[str]:
        return [each["resources"][0] for each in scene.read(CLUSTER_ROLES, "", "all")["rules"] or []]

    await scene.create(CLUSTER_ROLES, {"metadata": {"name": "all"}, **GATHER})
    await scene.create(CLUSTER_ROLES, {"metadata": {"name": "one", "labels": {"to": "all"}}, "rules": [rule("pods")]})
    roles = Roles(scene.world)
    roles.start()
    await scene.until(lambda: gathered() == ["pods"])
    await scene.create(CLUSTER_ROLES, {"metadata": {"name": "two", "labels": {"to": "all"}}, "rules": [rule("nodes")]})
    await scene.until(lambda: gathered() == ["pods", "nodes"])
    await scene.delete(CLUSTER_ROLES, "", "one")
    await scene.until(lambda: gathered() == ["nodes"])
    await roles.stop()
