"""What every suite shares: the API servers that it runs on, and a list of what was not run.

A test that asks for `api_server` (or `kubeconfig`, its file) is run once on each server named by `--servers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ingot_up import IngotUp
from kube.binaries import binaries, home, why_not
from kube.cluster import ControlPlane

SERVERS = ("ingot", "kube")

# How long an example takes by the clock says more of the machine's load than of the code.
settings.register_profile("ingot", deadline=None)
settings.load_profile("ingot")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        default="ingot",
        metavar="NAMES",
        help=f"API servers to run the suites on, of {', '.join(SERVERS)}, separated by commas",
    )
    parser.addoption(
        "--not-run",
        type=Path,
        metavar="FILE",
        help="add the names of the tests that were not run, with the reason, to this file",
    )


def pytest_configure(config: pytest.Config) -> None:
    unknown = set(servers(config)) - set(SERVERS)
    if unknown:
        raise pytest.UsageError(f"--servers: unknown {', '.join(sorted(unknown))}; known: {', '.join(SERVERS)}")


def servers(config: pytest.Config) -> list[str]:
    """The API servers that were asked for."""
    return [name for name in config.getoption("--servers").split(",") if name]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "api_server" in metafunc.fixturenames:
        metafunc.parametrize("api_server", servers(metafunc.config), indirect=True, scope="session")


@pytest.fixture(scope="session")
def api_server(request: pytest.FixtureRequest) -> IngotUp | ControlPlane:
    """The API server under test; one for the whole run, so that a test makes a namespace of its own."""
    fixture = {"ingot": "ingot_server", "kube": "kube_apiserver"}[request.param]
    server: IngotUp | ControlPlane = request.getfixturevalue(fixture)
    return server


@pytest.fixture(scope="session")
def kubeconfig(api_server: IngotUp | ControlPlane) -> Path:
    """The administrator's kubeconfig of the API server under test."""
    return api_server.kubeconfig


@pytest.fixture(scope="session")
def kubectl() -> Path:
    """The pinned kubectl. Skips where it is not built."""
    program = home() / "kubectl"
    if not program.exists():
        pytest.skip(f"no kubectl in {home()}: run `make kube`")
    return program


@pytest.fixture(scope="session")
def ingot_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    """Ingot's own API server, one for the whole run."""
    with IngotUp(tmp_path_factory.mktemp("ingot")) as server:
        yield server


@pytest.fixture(scope="session")
def kube_apiserver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real control plane, one for the whole run. Skips where it was not asked for, or is not built."""
    if "kube" not in servers(request.config):
        pytest.skip("real Kubernetes was not asked for: run `make test-kube`")
    if binaries() is None:
        pytest.skip(why_not())
    with ControlPlane(tmp_path_factory.mktemp("kube")) as cluster:
        yield cluster


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Lists by name what was not run for lack of something, and what is known to fail, each grouped by its reason."""
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist: its parent reports for all
        return
    lacking: dict[str, list[str]] = {}
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        lacking.setdefault(reason.removeprefix("Skipped: "), []).append(report.nodeid)
    failing: dict[str, list[str]] = {}
    for report in terminalreporter.getreports("xfailed"):
        failing.setdefault(f"expected to fail: {report.wasxfail}", []).append(report.nodeid)
    _list(terminalreporter, "not run", lacking, config.getoption("--not-run"))
    _list(terminalreporter, "expected to fail", failing, config.getoption("--not-run"))


def _list(reporter: pytest.TerminalReporter, title: str, names: dict[str, list[str]], target: Path | None) -> None:
    """Shows the tests of each reason, and adds them to the file `target`."""
    lines = []
    for reason, tests in sorted(names.items()):
        lines += [f"{reason}:", *(f"  {test}" for test in sorted(tests))]
    if not lines:
        return
    reporter.section(title)
    for line in lines:
        reporter.write_line(line)
    if target:
        with target.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
