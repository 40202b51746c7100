"""Holds alerts and dashboard against a service that runs."""

from collections.abc import Sequence

import httpx
from prometheus_client.parser import text_string_to_metric_families

from deploy.prometheus import Prometheus, queries, running_prometheus
from deploy.query_names import names_in

#: Figures of what does not happen while all is well.
ACCIDENTS = {
    "cs_bounces_total",
    "cs_call_errors_total",
    "cs_calls_refused_total",
    "cs_misconfigured",
    "cs_not_measured",
    "cs_paid_calls_total",
    "cs_people_erased_total",
    "cs_results_corrected_total",
    "cs_stage_attempts_failed_total",
}


def figures_without_values(targets: Sequence[str]) -> set[str]:
    """Return the figures that queries name and that no admin port of *targets* has.

    Those that have some must have every label that a query names.
    """
    shown: dict[str, set[str]] = {"up": {"job", "instance"}}
    for page in _pages(targets):
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                own = {"job", "instance", *sample.labels}
                shown.setdefault(sample.name, own).intersection_update(own)
    missing = set()
    for query in queries():
        for figure, labels in names_in(query):
            if figure not in shown:
                missing.add(figure)
            else:
                assert labels <= shown[figure], figure
    return missing


def _pages(targets: Sequence[str]) -> list[str]:
    with httpx.Client(trust_env=False, timeout=20) as http:
        return [http.get(f"http://{target}/metrics").text for target in targets]


def run_every_query(targets: Sequence[str], without_values: set[str]) -> None:
    """Have Prometheus run every query on *targets*; each gives something if it can."""
    with running_prometheus(targets) as server:
        server.wait_for(f'count(up{{job="contact-search"}} == 1) == {len(targets)}')
        server.wait_for("rate(process_cpu_seconds_total[5m])")  # has read them twice
        for query in queries():
            server.query(query)
        groups = server.ask("rules")["groups"]
        assert [r for g in groups for r in g["rules"] if r["health"] == "err"] == []
        for query in _panels(without_values):
            server.wait_for(query)
        assert _firing(server) == []


def _panels(without_values: set[str]) -> list[str]:
    """Return the queries that show something of a service at rest: no condition, all there."""
    return [
        query
        for query in queries()
        if not any(sign in query for sign in (" > ", " < ", " == ", "quantile", "rate("))
        and not any(figure in without_values for figure, _ in names_in(query))
    ]


def _firing(server: Prometheus) -> list[str]:
    return [each["metric"]["alertname"] for each in server.query('ALERTS{alertstate="firing"}')]
