"""The wrapper modules that the programs are built in, and which versions of their parts can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kube.golang import Go, GoError, Unavailable

ETCD = "go.etcd.io/etcd/server/v3"


def write_etcd(go: Go, place: Path, version: str) -> None:
    """A module that requires etcd's server and nothing else."""
    write(place, "etcd", f"require {ETCD} v{version}\n")
    fetch(go, place, ETCD, version)


def write_helm(go: Go, place: Path, path: str, version: str) -> None:
    """A module that requires Helm and nothing else."""
    write(place, "helm", f"require {path} v{version}\n")
    fetch(go, place, path, version)


def write_virtctl(go: Go, place: Path, path: str, version: str) -> None:
    """A module that requires KubeVirt, with what that replaces: its own tree is published in modules of its version."""
    write(place, "virtctl", f"require {path} v{version}\n")
    (parsed,) = go.json("mod", "edit", "-json", fetch(go, place, path, version)["GoMod"], cwd=place)
    replaced = []
    for item in parsed["Replace"]:
        old, new = item["Old"]["Path"], item["New"]
        staged = new["Path"].startswith("./staging/")
        replaced.append(f"\t{old} => {old} v{version}\n" if staged else f"\t{old} => {new['Path']} {new['Version']}\n")
    with (place / "go.mod").open("a") as file:
        file.write(f"\nreplace (\n{''.join(replaced)})\n")


def write_kubernetes(go: Go, place: Path, version: str) -> None:
    """A module that requires k8s.io/kubernetes, its staging modules replaced by published versions."""
    write(place, "kubernetes", f"require k8s.io/kubernetes v{version}\n")
    chosen = choose(go, place, staging_modules(go, place, version), version)
    replaced = "".join(f"\t{path} => {path} v{number}\n" for path, number in sorted(chosen.items()))
    with (place / "go.mod").open("a") as file:
        file.write(f"\nreplace (\n{replaced})\n")


def write(place: Path, name: str, body: str) -> None:
    """Writes a go.mod. There is no Go file in these modules: only packages of what they require are built."""
    place.mkdir()
    (place / "go.mod").write_text(f"module ingot.test/{name}\n\ngo 1.23.0\n\n{body}")


def fetch(go: Go, place: Path, path: str, version: str) -> dict[str, Any]:
    """Brings a module into Go's cache and tells where it is. Raises Unavailable if no proxy gives it."""
    try:
        (found,) = go.json("mod", "download", "-json", f"{path}@v{version}", cwd=place)
    except GoError as problem:
        raise Unavailable(f"no Go module proxy answers: {problem.output}") from problem
    if "Error" in found:
        raise Unavailable(f"no Go module proxy gives {path}: {found['Error']}")
    return found


def staging_modules(go: Go, place: Path, version: str) -> list[str]:
    """The modules that Kubernetes keeps in its own tree, by its go.mod."""
    found = fetch(go, place, "k8s.io/kubernetes", version)
    (parsed,) = go.json("mod", "edit", "-json", found["GoMod"], cwd=place)
    return [item["Old"]["Path"] for item in parsed["Replace"] if item["New"]["Path"].startswith("./staging/")]


def choose(go: Go, place: Path, modules: list[str], version: str) -> dict[str, str]:
    """For each module the newest patch release, not above that of `version`, which the proxy gives.

    A proxy may lack some releases of some modules. Within one minor release they fit each other.
    """
    _, minor, newest = (int(part) for part in version.split("."))
    chosen: dict[str, str] = {}
    for patch in range(newest, -1, -1):
        wanted = [path for path in modules if path not in chosen]
        if not wanted:
            break
        number = f"0.{minor}.{patch}"
        for found in go.json("mod", "download", "-json", *(f"{path}@v{number}" for path in wanted), cwd=place):
            if "Error" not in found:
                chosen[found["Path"]] = number
                if patch != newest:
                    print(
                        f"kube: {found['Path']} is not to be had at 0.{minor}.{newest}, taking {number}",
                        flush=True,
                    )
    lacking = [path for path in modules if path not in chosen]
    if lacking:
        raise Unavailable(f"the Go module proxy gives no 0.{minor} release of {', '.join(lacking)}")
    return chosen
