"""The builder's choice of module versions, against a proxy that lacks some of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kube.golang import Go, GoError, Unavailable
from kube.modules import choose, fetch


@dataclass(frozen=True)
class Proxy(Go):
    """Stands in for a toolchain whose proxy has just these modules, as `path@version`."""

    has: tuple[str, ...]

    def json(self, *arguments: str, cwd: Path) -> list[dict[str, Any]]:
        return [self._answer(wanted) for wanted in arguments if "@" in wanted]

    def _answer(self, wanted: str) -> dict[str, Any]:
        found = {"Path": wanted.split("@")[0], "Version": wanted.split("@")[1]}
        return found if wanted in self.has else {**found, "Error": "403 Forbidden"}


def proxy_with(*modules: str) -> Proxy:
    return Proxy(Path("go"), "go1.26", modules)


def test_each_module_comes_in_the_newest_patch_release_to_be_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    has = ("k8s.io/api@v0.32.13", "k8s.io/api@v0.32.12", "k8s.io/kms@v0.32.5", "k8s.io/kms@v0.32.14")
    proxy = proxy_with(*has)
    chosen = choose(proxy, tmp_path, ["k8s.io/api", "k8s.io/kms"], "1.32.13")
    assert chosen == {"k8s.io/api": "0.32.13", "k8s.io/kms": "0.32.5"}
    assert capsys.readouterr().out == "kube: k8s.io/kms is not to be had at 0.32.13, taking 0.32.5\n"


def test_a_module_without_any_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"no 0\.32 release of k8s\.io/kms"):
        choose(proxy_with("k8s.io/api@v0.32.13"), tmp_path, ["k8s.io/api", "k8s.io/kms"], "1.32.13")


def test_a_proxy_that_does_not_answer_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: str, cwd: Path) -> list[dict[str, Any]]:
        raise GoError(arguments, "network is unreachable")

    proxy = proxy_with()
    monkeypatch.setattr(Proxy, "json", staticmethod(fail))
    with pytest.raises(Unavailable, match="network is unreachable"):
        fetch(proxy, tmp_path, "k8s.io/kubernetes", "1.32.13")
