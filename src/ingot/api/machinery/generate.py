"""`python -m ingot.api.machinery.generate [ROOT]` writes the CRDs, webhooks and users' roles of deploy/, and
docs/reference.md."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ingot.api import registry, user_roles
from ingot.api.machinery import webhooks
from ingot.api.machinery.crd import crd_of
from ingot.api.machinery.reference import page
from ingot.api.object import Object

_HEADER = "# Generated from src/ingot/api by `python -m ingot.api.machinery.generate`; do not edit.\n"


class _Plain(yaml.SafeDumper):
    """Writes shared parts out each time: API servers read no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@cache
def files() -> dict[str, str]:
    """Path below the repository's root → content, of every generated file."""
    made = {f"deploy/crds/{info.crd_name}.yaml": render(crd_of(info)) for info in registry.kinds()}
    made["deploy/webhooks.yaml"] = render(*webhooks.configurations(registry.kinds()))
    made["deploy/roles.yaml"] = render(*user_roles.cluster_roles(), *user_roles.cluster_role_bindings())
    made["docs/reference.md"] = page(registry.kinds())
    return made


def render(*objects: Object) -> str:
    """YAML with the keys in the order of writing, so that a difference reads like the change that made it."""
    return _HEADER + "---\n".join(
        yaml.dump(each, Dumper=_Plain, sort_keys=False, width=110, allow_unicode=True) for each in objects
    )


def stale(root: Path) -> list[str]:
    """The generated files that differ from what the types say now, and those of kinds that are gone."""
    wanted = files()
    there = {str(path.relative_to(root)) for path in (root / "deploy/crds").glob("*.yaml")}
    differing = {path for path, content in wanted.items() if _read(root / path) != content}
    return sorted(differing | (there - wanted.keys()))


def write(root: Path) -> None:
    """Makes the files below `root` what the types say."""
    wanted = files()
    for path in stale(root):
        if path in wanted:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path], encoding="utf-8")
        else:
            (root / path).unlink()


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[4])
