"""Alerts and dashboard name only what `/metrics` shows; alerts link to the runbook."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from deploy.compose_files import MONITORING as COMPOSE
from deploy.compose_files import ROLES, project
from deploy.metrics_page import family_names, full_page
from harness.every_row import check_every
from harness.servers.missing import Missing

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
RULES = MONITORING / "contact-search.rules.yaml"
EXPECTED = MONITORING / "contact-search.expected.yaml"
DASHBOARD = MONITORING / "grafana" / "contact-search.json"
RUNBOOK = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text()
#: Added by Prometheus itself to what it reads.
ITS_OWN = {"job", "instance"}


def rules() -> list[dict[str, Any]]:
    """Return every alert and every rule that records."""
    groups: list[dict[str, Any]] = []
    for file in (RULES, EXPECTED):
        groups += yaml.safe_load(file.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def queries() -> list[str]:
    """Return every query of the rules and of the dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    return [*(rule["expr"] for rule in rules()), *shown]


def names_in(
    part: promql.Expr, wanted: frozenset[str] = frozenset()
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each metric that a query names, with the labels that it wants of it."""
    match part:
        case promql.VectorSelector():
            assert part.name is not None, "a selector without a name reads everything"
            yield part.name, wanted | {each.name for each in part.matchers.matchers}
        case promql.MatrixSelector():
            yield from names_in(part.vector_selector, wanted)
        case promql.AggregateExpr():
            labels = part.modifier.labels if part.modifier is not None else ()
            yield from names_in(part.expr, wanted | frozenset(labels))
        case promql.BinaryExpr():
            matching = part.modifier.matching if part.modifier is not None else None
            on = wanted | frozenset(matching.labels if matching is not None else ())
            yield from names_in(part.lhs, on)
            yield from names_in(part.rhs, on)
        case promql.Call():
            for argument in part.args:
                yield from names_in(argument, wanted)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from names_in(part.expr, wanted)
        case promql.NumberLiteral() | promql.StringLiteral():
            pass
        case _:
            raise AssertionError(f"a new kind of expression: {type(part).__name__}")


@pytest.fixture(scope="module")
def labels() -> dict[str, set[str]]:
    """The labels of every sample that a page can have, by its name."""
    found: dict[str, set[str]] = {"up": set()}
    for rule in rules():  # whose own labels are given; those of its query are checked there
        if "record" in rule:
            found.setdefault(rule["record"], set()).update(rule.get("labels", ()))
    for family in text_string_to_metric_families(full_page()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_queries_name_only_metrics_and_labels_that_exist(
    labels: dict[str, set[str]],
) -> None:
    def check(query: str) -> None:
        for metric, named in names_in(promql.parse(query)):
            assert metric in labels, metric
            assert named - ITS_OWN <= labels[metric], metric

    check_every(queries(), check)


def test_every_metric_is_in_an_alert_or_on_the_dashboard() -> None:
    used = {metric for query in queries() for metric, _ in names_in(promql.parse(query))}
    by_family = {re.sub(r"_(bucket|sum|count)$", "", metric) for metric in used}

    unused = set(family_names()) - by_family
    parts = {"cs_follower_position"}  # what the lag is made of
    optional = {"cs_spending_total_cap_usd", "cs_spending_total_left_usd"}  # none by default
    assert unused <= parts | optional


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_links_to_a_section_of_the_runbook(alert: dict[str, Any]) -> None:
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (.+)$", RUNBOOK, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}

    assert page == "docs/runbook.md"
    assert anchor in anchors
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["labels"]["severity"] in {"page", "ticket"}


def test_prometheus_scrapes_every_role_of_the_compose_file() -> None:
    (job,) = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]

    assert job["job_name"] == "contact-search", "alerts and dashboard call it so"
    assert set(found["names"]) == set(ROLES)


def test_a_process_is_expected_of_every_role_of_the_compose_file() -> None:
    records = [rule for rule in rules() if rule.get("record") == "cs:expected_processes"]
    stages = {"brand-resolution", "contact-discovery", "ranking", "verification"}

    roles = [rule["labels"]["role"] for rule in records]
    assert sorted(roles) == sorted(f"stage {r}" if r in stages else r for r in ROLES)


def test_only_monitoring_reaches_the_admin_ports() -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    whole = project(COMPOSE)
    Draft202012Validator(schema).validate(whole)
    on_it = {
        name for name, service in whole["services"].items() if "metrics" in service["networks"]
    }

    assert whole["networks"]["metrics"] == {"internal": True}
    assert on_it == {*ROLES, "prometheus", "grafana"}
    for role in ROLES:
        assert whole["services"][role]["environment"]["CS_ADMIN_HOST"] == "0.0.0.0"
    for service in ("prometheus", "grafana"):
        for mount in whole["services"][service]["volumes"]:
            source = mount.split(":")[0]
            if source.startswith("."):
                assert (MONITORING.parent / source).is_file(), source


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", str(RULES), str(EXPECTED)),
        ("check", "config", str(MONITORING / "prometheus.yaml")),
        ("check", "metrics"),
    ],
    ids=lambda words: words[1],
)
def test_promtool_accepts_the_files_and_the_names_and_units_of_metrics(
    words: tuple[str, ...],
) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Missing("promtool is not here: install Prometheus (Debian: prometheus)")
    ours = [line for line in full_page().splitlines() if re.search(r"\bcs_", line)]
    checked = subprocess.run(
        [promtool, *words],
        input="".join(f"{line}\n" for line in ours),
        text=True,
        capture_output=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert words[1] != "metrics" or checked.stdout + checked.stderr == ""
