"""Alert rules, by Prometheus' own tool (G9)."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "alerts" / "rules.yaml"
TESTS = sorted(Path(__file__).parent.glob("*.yaml"))
DOCS = (ROOT / "docs" / "monitoring.md").read_text()


def alerts() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def promtool(*arguments: object) -> None:
    said = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout + said.stderr


def test_promtool_takes_the_rules() -> None:
    promtool("check", "rules", RULES)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_alerts_fire_when_they_should_and_only_then(path: Path) -> None:
    promtool("test", "rules", path)


def test_every_alert_has_a_test() -> None:
    tested = "".join(path.read_text() for path in TESTS)
    patterns = re.findall(r'alertname=~"([^"]*)"', tested)
    lacking = [
        rule["alert"]
        for rule in alerts()
        if rule["alert"] not in tested and not any(re.fullmatch(each, rule["alert"]) for each in patterns)
    ]
    assert not lacking


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_tells_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description", "runbook"}
    # Not runbook_url, which dashboards make a link of.
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert page == "docs/monitoring.md"
    assert anchor in [line[4:].lower() for line in DOCS.splitlines() if line.startswith("### ")]
    assert rule["alert"] in DOCS


def test_the_operator_gets_the_same_rules() -> None:
    """Made anew by putting `groups:` of rules.yaml below `spec:`, two columns further in."""
    assert yaml.safe_load((RULES.parent / "prometheusrule.yaml").read_text())["spec"] == yaml.safe_load(
        RULES.read_text()
    )
