"""The commands before they talk to a server."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from ingot.cli.main import cli

# These are slow to load; what only prints help must not load them.
SLOW = ("aiohttp", "asyncio", "yaml", "msgspec", "rich", "cryptography", "sqlite3", "ssl")


def test_help_loads_nothing_that_is_slow() -> None:
    program = (
        "import sys\nfrom ingot.cli.main import cli\n"
        "for name in ['get', 'describe', 'apply', 'delete', 'wait']:\n"
        "    cli([name, '--help'], standalone_mode=False)\n"
        f"print([name for name in {SLOW!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["delete"], "say what to delete"),
        (["delete", "cm", "x", "-f", "y"], "say what to delete"),
        (["delete", "-f", "y", "--all"], "do not go together"),
        (["apply"], "--filename"),
        (["wait", "cm/x"], "--for"),
        (["wait", "cm/x", "--for", "Ready"], "is none of condition="),
        (["wait", "cm/x", "--for", "create", "--timeout", "soon"], "such as 30s"),
        (["get"], "TYPE"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_server_is_asked(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert said in result.output
