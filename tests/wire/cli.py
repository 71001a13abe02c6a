"""`ingot` in a namespace of its own, for the cases on its commands."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from ingot.api.resource import Resource
from ingot.cli.main import cli
from ingot.cli.yamltext import to_yaml
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load

PROGRAM = [sys.executable, "-c", "from ingot.cli.main import main; main()"]


class Ingot:
    """The commands in one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str, directory: Path) -> None:
        self.options = ["--kubeconfig", str(kubeconfig), "--namespace", namespace]
        self.namespace = namespace
        self.directory = directory

    def __call__(self, command: str, *arguments: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, [command, *arguments, *self.options], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    def json(self, command: str, *arguments: str) -> Any:
        return json.loads(self(command, *arguments, "--output", "json").stdout)

    def apply(self, *objects: dict[str, Any], arguments: tuple[str, ...] = (), code: int = 0) -> Result:
        return self("apply", "-f", "-", *arguments, stdin="---\n".join(map(to_yaml, objects)), code=code)

    def start(self, command: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        # A shell's background jobs, and so these tests in one, are started with SIGINT ignored.
        line = ["env", "--default-signal=INT", *PROGRAM, command, *arguments, *self.options]
        return subprocess.Popen(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def wait(self, what: str, goal: str, then: Callable[[], object]) -> subprocess.CompletedProcess[str]:
        """`ingot wait`; `then` is called when it says that it waits."""
        waiting = self.start("wait", what, "--for", goal, "--timeout", "30s")
        assert waiting.stderr is not None
        said = waiting.stderr.readline()
        assert said.startswith("waiting for "), said
        then()
        out, err = waiting.communicate(timeout=60)
        return subprocess.CompletedProcess([], waiting.returncode, out, said + err)


def config_map(name: str, labels: dict[str, str] | None = None, **data: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def write_as_other(kubeconfig: Path, namespace: str, name: str, patch: dict[str, Any]) -> None:
    """Change a config map as another client would."""

    async def write() -> None:
        async with Client.connect(load(kubeconfig)) as client:
            resource = Resource("", "v1", "configmaps", "ConfigMap")
            await client.patch(resource, name, patch, namespace, field_manager="other")

    asyncio.run(write())
