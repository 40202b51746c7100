"""Alerts and dashboard name only what `/metrics` shows, and lead to what there is to do."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from prometheus_client import Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from cs.metrics.metrics import Metrics
from deploy.compose_files import MONITORING as COMPOSE
from deploy.compose_files import ROLES, project
from deploy.prometheus import (
    MONITORING,
    RULES,
    alerts,
    promtool,
    queries,
)
from deploy.query_names import names_in
from harness.every_row import check_every

RUNBOOK = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text()
#: Added by Prometheus itself to what it reads.
ITS_OWN = {"job", "instance"}


def full_page() -> str:
    """Return a page on which every metric has a value for some labels."""
    metrics = Metrics()
    for family in metrics.families():
        instrument = family.of(*("x" for _ in family.label_names))
        if isinstance(instrument, Histogram):
            instrument.observe(0.1)
        elif isinstance(instrument, Gauge):
            instrument.set(1)
        else:
            instrument.inc()
    return metrics.page("")[0].decode()


@pytest.fixture(scope="module")
def labels() -> dict[str, set[str]]:
    """The labels of every sample that a page can have, by its name."""
    found: dict[str, set[str]] = {"up": set()}
    for family in text_string_to_metric_families(full_page()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_a_query_names_only_figures_and_labels_that_there_are(
    labels: dict[str, set[str]],
) -> None:
    def check(query: str) -> None:
        for figure, named in names_in(query):
            assert figure in labels, figure
            assert named - ITS_OWN <= labels[figure], figure

    check_every(queries(), check)


def test_every_figure_of_ours_is_looked_at_by_somebody() -> None:
    used = {figure for query in queries() for figure, _ in names_in(query)}
    by_family = {re.sub(r"_(bucket|sum|count)$", "", figure) for figure in used}

    unused = {each.name for each in Metrics().families()} - by_family
    assert unused <= {"cs_follower_position"}, "what the lag is made of"


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_an_alert_leads_to_a_part_of_the_runbook(alert: dict[str, Any]) -> None:
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    headings = re.findall(r"^## (.+)$", RUNBOOK, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}

    assert page == "docs/runbook.md"
    assert anchor in anchors
    assert alert["annotations"]["summary"].endswith(".")
    assert alert["labels"]["severity"] in {"page", "ticket"}


def test_prometheus_looks_for_every_role_of_the_compose_file() -> None:
    (job,) = yaml.safe_load((MONITORING / "prometheus.yaml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]

    assert job["job_name"] == "contact-search", "alerts and dashboard call it so"
    assert set(found["names"]) == set(ROLES)


def test_the_compose_file_opens_admin_ports_to_who_watches_alone() -> None:
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
def test_promtool_finds_nothing_wrong_with_names_and_units() -> None:
    checked = subprocess.run(
        [promtool(), "check", "metrics"],
        input=_ours(full_page()),
        text=True,
        capture_output=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")


def _ours(page: str) -> str:
    """Return the lines of figures that are called by us."""
    return "".join(f"{line}\n" for line in page.splitlines() if re.search(r"\bcs_", line))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("rules", RULES), ("config", MONITORING / "prometheus.yaml")]
)
def test_promtool_finds_nothing_wrong_with_the_files(words: tuple[str, Path]) -> None:
    what, file = words
    checked = subprocess.run(
        [promtool(), "check", what, file], text=True, capture_output=True, check=False
    )

    assert checked.returncode == 0, checked.stderr
