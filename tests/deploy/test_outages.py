"""Which alerts fire in an outage, by promtool, on what the processes show before and in it.

The service is that of `compose.yaml`, scraped every 15 s.  An outage begins after five minutes
and lasts; an alert has half an hour or more to fire.  What a process shows ends with it.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from deploy.metrics_page import full_page
from deploy.test_monitoring import EXPECTED, RULES
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow

EVERY = "15s"
BEFORE, DURING = 20, 480  # scrapes: five minutes, two hours
AT = "2h4m"
STAGES = ("brand-resolution", "contact-discovery", "ranking", "verification")
#: The roles, and how each is called in its own metrics.
ROLES = {
    **{role: role for role in ("api", "relay", "process-manager", "project")},
    **{stage: f"stage {stage}" for stage in STAGES},
}
#: Those that read the service's database, and those that use Kafka.
ON_DATABASE = ("api", "relay", "process-manager", "project")
ON_KAFKA = ("relay", "process-manager", *STAGES)


#: What is not shown while all is measured.
NOTHING_LEFT_OUT = {
    f'cs_not_measured{{part="{part}",instance="{role}:8081"}}': "_"
    for part in ("cluster", "followers", "health")
    for role in ON_DATABASE
}


def _healthy() -> dict[str, str]:
    """Return what every process shows while all is well: a value, or ``0+N`` a scrape."""
    shown = {}
    for role, name in ROLES.items():
        of = f'instance="{role}:8081"'
        shown[f'up{{job="contact-search",{of}}}'] = "1"
        shown[f'cs_info{{role="{name}",version="1",world="live",{of}}}'] = "1"
        shown[f"cs_ready{{{of}}}"] = "1"
        if role in ON_KAFKA:
            shown[f"cs_bus_reachable{{{of}}}"] = "1"
        if role in ON_DATABASE:
            for lease in ("relay", "driver", "views"):
                shown[f'cs_lease_taken{{lease="{lease}",{of}}}'] = "1"
            for follower in ("relay", "views"):
                shown[f'cs_follower_lag_seconds{{follower="{follower}",{of}}}'] = "0"
    for stage in STAGES:
        of = f'instance="{stage}:8081"'
        named = f'topic="cs.{stage}.v1",group="{stage}"'
        shown[f"cs_bus_waiting_messages{{{named},{of}}}"] = "3"
        shown[f"cs_bus_idle_seconds{{{named},{of}}}"] = "1"
    held = {"relay": ("relay",), "process-manager": ("driver", "retention")}
    for role, leases in {**held, "project": ("views",)}.items():
        for lease in leases:
            shown[f'cs_lease_held{{lease="{lease}",instance="{role}:8081"}}'] = "1"
    of = 'instance="verification:8081"'
    for problem in ("rate-limited", "over-cap", "no-credits"):
        named = f'provider="kickbox",problem="{problem}"'
        shown[f"cs_paid_problems_total{{{named},{of}}}"] = "0+0"
    return {
        **shown,
        **NOTHING_LEFT_OUT,
        f'cs_paid_calls_total{{provider="kickbox",result="made",{of}}}': "0+4",
        f'cs_spent_usd{{provider="kickbox",period="day",{of}}}': "2",
        f'cs_spending_cap_usd{{provider="kickbox",period="day",{of}}}': "10",
        f'cs_spending_total_cap_usd{{period="month",{of}}}': "100",
        f'cs_spending_total_left_usd{{period="month",{of}}}': "50",
        'cs_appends_total{result="unavailable",instance="api:8081"}': "0+0",
        'cs_canary_interval_seconds{instance="api:8081"}': "1800",
        'cs_canary_success_timestamp_seconds{instance="api:8081"}': "0+15",
        'cs_database_size_bytes{database="service",instance="api:8081"}': "1e9",
    }


@dataclass
class Outage:
    """An outage.

    Attributes:
        fires: The alerts that fire in it, each with how many times; no others do.
        gone: Roles whose processes have ended.
        shown: What others show in it, as in `_healthy`; by part of a series.
    """

    fires: Mapping[str, int]
    gone: Sequence[str] = ()
    shown: Mapping[str, str] = field(default_factory=dict)


OUTAGES = {
    "none": Outage({}),
    "the relay is gone": Outage(
        {"RoleIsMissing": 1, "ProcessIsDown": 1, "NobodyLeads": 1, "FollowerIsBehind": 1},
        gone=["relay"],
        shown={
            'cs_lease_taken{lease="relay"': "0",
            'cs_follower_lag_seconds{follower="relay"': "0+15",
        },
    ),
    "the relay and every verification worker are gone": Outage(
        {"RoleIsMissing": 2, "ProcessIsDown": 2, "NobodyLeads": 1, "FollowerIsBehind": 1},
        gone=["relay", "verification"],
        shown={
            'cs_lease_taken{lease="relay"': "0",
            'cs_follower_lag_seconds{follower="relay"': "0+15",
        },
    ),
    "nobody is left": Outage(
        {"RoleIsMissing": 8, "ProcessIsDown": 8, "NothingIsMonitored": 1}, gone=[*ROLES]
    ),
    "Kafka is gone": Outage(
        {"KafkaIsAway": 6, "ProcessIsNotReady": 6, "FollowerIsBehind": 1},
        shown={
            "cs_bus_reachable": "0",
            **{f'cs_ready{{instance="{role}:8081"': "0" for role in ON_KAFKA},
            'cs_follower_lag_seconds{follower="relay"': "0+15",
        },
    ),
    "the service's database is gone": Outage(
        {"ProcessIsNotReady": 4, "AppendsFail": 1, "NotMeasured": 8, "CanaryFails": 1},
        shown={
            **{f'cs_ready{{instance="{role}:8081"': "0" for role in ON_DATABASE},
            "cs_appends_total": "0+3",
            "cs_canary_success": "300",
            'part="cluster"': "1",
            'part="followers"': "1",
        },
    ),
    "the service's database hangs": Outage(
        {"ProcessIsNotReady": 4, "NotMeasured": 12, "CanaryFails": 1},
        shown={
            "cs_canary_success": "300",
            **{f'cs_ready{{instance="{role}:8081"': "0" for role in ON_DATABASE},
            "cs_not_measured": "1",
        },
    ),
    "a provider answers 429 all day": Outage(
        {"ProviderLimitsUs": 1}, shown={'problem="rate-limited"': "0+8"}
    ),
    "a provider has no credits, and its cap is near": Outage(
        {"ProviderRefuses": 1, "SpendingNearsCap": 1},
        shown={'problem="no-credits"': "0+1", "cs_spent_usd": "9"},
    ),
    "a cap is reached": Outage(
        {"CapIsReached": 1, "SpendingNearsCap": 1, "TotalSpendingNearsCap": 1},
        shown={
            'problem="over-cap"': "0+1",
            "cs_spent_usd": "10",
            "cs_spending_total_left_usd": "1",
        },
    ),
}
#: By `record_outages`: series as `_healthy` has them, of each outage.
SEEN: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_name("recorded_outages.json").read_text()
)
#: A process alone, of which no more is shown than what an operator looks after; times are in
#: promtool's, which begins at 0.
_ALONE = 'instance="serve:8081"'
FRESH = {
    f"cs_ready{{{_ALONE}}}": "1",
    **{f'cs_lease_held{{lease="{each}",{_ALONE}}}': "1" for each in ("relay", "driver")},
    f"cs_disk_free_bytes{{{_ALONE}}}": "9e10",
    f"cs_disk_size_bytes{{{_ALONE}}}": "1e11",
    f'cs_database_size_bytes{{database="log.db",{_ALONE}}}': "6e6",
    f"cs_backup_timestamp_seconds{{{_ALONE}}}": "0",
    f'cs_key_file_timestamp_seconds{{setting="master_key_file",{_ALONE}}}': "0",
}
UPKEEP = {
    f"cs_disk_free_bytes{{{_ALONE}}}": "1e9",
    f"cs_disk_size_bytes{{{_ALONE}}}": "1e11",
    f'cs_database_size_bytes{{database="log.db",{_ALONE}}}': "6e10",
    f"cs_backup_timestamp_seconds{{{_ALONE}}}": str(-3 * 86400),
    f'cs_certificate_expiry_timestamp_seconds{{setting="kafka_ca_file",{_ALONE}}}': "864000",
    f'cs_key_file_timestamp_seconds{{setting="master_key_file",{_ALONE}}}': str(-500 * 86400),
}


def _values(shown: str, scrapes: int) -> str:
    """Return *shown* for one scrape and *scrapes* more, in promtool's words."""
    if shown == "_":
        return f"_x{scrapes}"
    start, _, step = shown.partition("+")
    return f"{start}+{step or 0}x{scrapes}"


def _series(outage: Outage) -> dict[str, str]:
    found = {}
    for name, value in _healthy().items():
        before, during = _values(value, BEFORE), _values(value, DURING)
        new = [shown for part, shown in outage.shown.items() if part in name]
        if any(f'instance="{role}:' in name for role in outage.gone):
            during = f"0x{DURING}" if name.startswith("up{") else "stale"
        elif new:
            during = _values(new[0], DURING)
        found[name] = f"{before} {during}"
    return found


def _test_of(
    series: Mapping[str, str],
    fires: Mapping[str, int],
    at: str = AT,
    named: str = ".+",
    by: str = "alertname",
) -> dict[str, object]:
    """Return a test for promtool: which alerts, *named* so, fire at *at* with *series*."""
    samples = [{"labels": f'{{{by}="{name}"}}', "value": n} for name, n in fires.items()]
    query = {
        "expr": f'count by ({by}) (ALERTS{{alertstate="firing",alertname=~"{named}"}})',
        "eval_time": at,
        "exp_samples": samples,
    }
    return {
        "interval": EVERY,
        "input_series": [{"series": name, "values": each} for name, each in series.items()],
        "promql_expr_test": [query],
    }


def check_by_promtool(
    folder: Path, tests: Sequence[Mapping[str, object]], *files: Path, every: str = "1m"
) -> None:
    """Pass if promtool finds *tests* true of the rules in *files*."""
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Missing("promtool is not here: install Prometheus (Debian: prometheus)")
    named = {"rule_files": [str(file) for file in files], "evaluation_interval": every}
    written = folder / "outages.yaml"
    written.write_text(yaml.safe_dump({**named, "tests": list(tests)}))
    found = subprocess.run(
        [promtool, "test", "rules", str(written)], text=True, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", OUTAGES)
def test_an_outage_is_seen_by_those_who_are_left(tmp_path: Path, name: str) -> None:
    outage = OUTAGES[name]
    check_by_promtool(tmp_path, [_test_of(_series(outage), outage.fires)], RULES, EXPECTED)


#: Where it lets fire other alerts than the series made by hand: all databases were on one
#: server, there was no canary, and calls failed before they appended anything.
RECORDED_FIRES: Mapping[str, Mapping[str, int]] = {
    "the service's database is gone": {
        "ProcessIsNotReady": 4,
        "NobodyLeads": 1,
        "NotMeasured": 12,
    }
}


@pytest.mark.parametrize("name", SEEN)
def test_a_recorded_outage_is_seen(tmp_path: Path, name: str) -> None:
    """What real processes showed before and in an outage, as if it had lasted two hours."""
    series, fires = {}, RECORDED_FIRES.get(name, OUTAGES[name].fires)
    for each in {**SEEN["none"], **SEEN[name]}:
        before = _values(SEEN["none"].get(each, "_"), BEFORE)
        during = SEEN[name].get(each)
        series[each] = f"{before} {'stale' if during is None else _values(during, DURING)}"
    check_by_promtool(tmp_path, [_test_of(series, fires)], RULES, EXPECTED)


@pytest.mark.parametrize(
    ("shown", "names"),
    [
        (FRESH, ""),
        (
            UPKEEP,
            "DiskFillsUp DiskIsFull DatabaseIsLarge BackupIsOld CertificateExpires KeyIsOld",
        ),
    ],
    ids=["a new service alone", "all is old"],
)
def test_what_is_to_be_looked_after_is_seen(
    tmp_path: Path, shown: Mapping[str, str], names: str
) -> None:
    series = {name: _values(value, BEFORE + DURING) for name, value in shown.items()}
    series[f'up{{job="contact-search",{_ALONE}}}'] = f"1x{BEFORE + DURING}"
    alone = tmp_path / "expected.yaml"
    alone.write_text(
        re.sub(r"(?m)^.*role: (?!api).*\n", "", EXPECTED.read_text()).replace("api", "serve")
    )
    series[f'cs_info{{role="serve",{_ALONE}}}'] = f"1x{BEFORE + DURING}"
    check_by_promtool(
        tmp_path, [_test_of(series, dict.fromkeys(names.split(), 1))], RULES, alone
    )


_API, _PROJECT = 'instance="api:8081"', 'instance="project:8081"'
_POST = f'method="POST",route="/v1/contacts",held="no",{_API}'
OBJECTIVES = {
    f'cs_call_seconds_count{{status="200",{_POST}}}': "0+100",
    f'cs_call_seconds_count{{status="500",{_POST}}}': "0+0",
    f'cs_call_seconds_count{{status="503",{_POST}}}': "0+0",
    f'cs_call_errors_total{{code="api_disabled",{_API}}}': "_",
    f'cs_call_errors_total{{code="at_capacity",{_API}}}': "_",
    f'cs_call_seconds_bucket{{le="1.0",status="200",{_POST}}}': "0+100",
    f'cs_lookup_seconds_count{{outcome="done",{_PROJECT}}}': "0+20",
    f'cs_lookup_seconds_bucket{{le="90.0",outcome="done",{_PROJECT}}}': "0+20",
    f'cs_follower_lag_seconds{{follower="views",{_API}}}': "0",
}
#: What an objective's series show, and how many alerts fire for which objective: `CallsFail`
#: for that of calls, and the three of all objectives.
_REFUSED = {'status="503"': "0+9", "api_disabled": "0+4", "at_capacity": "0+5"}
MISSES: dict[str, tuple[Mapping[str, str], Mapping[str, int]]] = {
    "nothing is missed": ({}, {}),
    "calls fail": ({'status="500"': "0+5"}, {"availability": 4}),
    "first answers are slow": ({'le="1.0"': "0+60"}, {"first-answer": 3}),
    "lookups are slow": ({'le="90.0"': "0+4"}, {"search-time": 3}),
    "the views are behind": ({"cs_follower_lag_seconds": "20"}, {"freshness": 3}),
    "71 of 100 lookups are slow: 14.2 times the budget": (
        {'le="90.0"': "0+5.8"},
        {"search-time": 2},
    ),
    "29 of 100 are: 5.8 times": ({'le="90.0"': "0+14.2"}, {"search-time": 1}),
    "4.8 of 100 are: 0.96 times": ({'le="90.0"': "0+19.04"}, {}),
    "seven lookups an hour, all slow": (
        {"cs_lookup_seconds_count": "0+0.03", 'le="90.0"': "0+0"},
        {},
    ),
    "calls are refused by a pause and by limits": (_REFUSED, {}),
    "calls fail in a pause": ({**_REFUSED, 'status="500"': "0+5"}, {"availability": 4}),
}


@pytest.mark.parametrize("missed", MISSES)
def test_an_objective_that_is_missed_is_seen_by_the_alerts_of_all_windows(
    tmp_path: Path, missed: str
) -> None:
    changed, fires = MISSES[missed]
    series = {}
    for name, value in OBJECTIVES.items():
        new = [shown for part, shown in changed.items() if part in name]
        series[name] = _values(new[0] if new else value, BEFORE + DURING)
    test = _test_of(series, fires, named="Slo.+|CallsFail", by="slo")
    check_by_promtool(tmp_path, [test], RULES, EXPECTED, every="1m")


@pytest.mark.parametrize(
    ("confirmed", "refused", "alerts"),
    [
        ("0+12", "0+20", 0),
        ("0+3", "0+20", 1),
        pytest.param("_", "0+20", 1, id="it confirms nothing after a restart"),
        pytest.param("0+0.1", "0+0.9", 0, id="it is asked 48 times a day"),
    ],
)
def test_a_verifier_that_confirms_less_than_it_did_is_seen(
    tmp_path: Path, confirmed: str, refused: str, alerts: int
) -> None:
    days, of = 24 * 60 // 30, 'verifier="smtp",instance="verification:8081"'
    asked = f'cs_verifier_seconds_count{{verdict="deliverable",answered="yes",{of}}}'
    series = {
        asked: f"0+20x{7 * days} {_values(confirmed, 2 * days)}",
        asked.replace("deliverable", "undeliverable"): (
            f"0+20x{7 * days} {_values(refused, 2 * days)}"
        ),
    }
    fires = {"VerifiedShareFalls": alerts} if alerts else {}
    test = _test_of(series, fires, "9d", "Verified.+") | {"interval": "30m"}
    check_by_promtool(tmp_path, [test], RULES, EXPECTED, every="30m")


def test_the_outages_name_only_series_that_exist() -> None:
    exist = {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(full_page())
        for sample in family.samples
    }
    exist["up"] = {"job"}
    recorded = [series for seen in SEEN.values() for series in seen]
    for series in (*_healthy(), *FRESH, *UPKEEP, *OBJECTIVES, *recorded):
        name, _, labels = series.partition("{")
        assert name in exist
        assert set(re.findall(r"(\w+)=", labels)) - {"instance"} <= exist[name], series
