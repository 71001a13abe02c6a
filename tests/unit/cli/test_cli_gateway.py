import pytest
from click.testing import CliRunner

from ingot.cli.main import cli


@pytest.mark.parametrize("name", ["uploads.example", ":443", "uploads.example:no", "uploads.example:0"])
def test_a_name_without_a_port_is_refused_with_one_that_would_do(name):
    told = CliRunner().invoke(cli, ["gateway", "--known-as", name])
    assert told.exit_code == 2
    assert "is not HOST:PORT, such as uploads.example.org:443" in told.output


def test_what_is_no_cluster_is_told(tmp_path):
    told = CliRunner(env={"KUBECONFIG": str(tmp_path / "none")}).invoke(
        cli, ["gateway", "--dir", str(tmp_path / "keys")]
    )
    assert told.exit_code == 1
    assert "no such kubeconfig" in told.output
