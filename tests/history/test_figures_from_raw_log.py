"""Every figure an analyst sees is what the stored events say, read without `cs.history`.

The year of `cs demo --history` costs money, has erasures and a bad week.  Its events are read
here with plain SQL and JSON; people are opened by the event log itself.
"""

import asyncio
import json
import shutil
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cli.command import ran
from cli.year import year
from cs.domain.brand import events as brand_events
from cs.eventlog.port import RecordedEvent
from harness.stores import opened as stores_of

__all__ = ["year"]
pytestmark = pytest.mark.slow

SINCE, UNTIL = "2025-11-03", "2026-11-02"
BAD_WEEK = ("2026-03-16", "2026-03-23")
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Raw:
    """A stored event, its people sealed."""

    position: int
    stream: str
    type: str
    data: dict[str, Any]

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.data["at"])


class Log:
    """The stored events of the year."""

    def __init__(self, events: list[Raw]) -> None:
        self.all = events
        self.by_type = defaultdict[str, list[Raw]](list)
        for event in events:
            self.by_type[event.type].append(event)

    def __call__(self, kind: str, since: str = SINCE, until: str = UNTIL) -> list[Raw]:
        """Return the events of a type in a period."""
        every = self.by_type[f"{kind}.v1"]
        return [each for each in every if since <= each.data["at"] < until]

    def costs(self, since: str = SINCE, until: str = UNTIL) -> Iterator[dict[str, Any]]:
        """Yield every cost that an event of the period recorded, with its stage."""
        stages = {
            "brand.resolved": "brand-resolution",
            "brand.contacts-discovered": "contact-discovery",
            "brand.contacts-ranked": "ranking",
            "brand.mail-domain-checked": "verification",
        }
        for kind in ("brand.attempt-failed", *stages):
            for event in self(kind, since, until):
                for cost in event.data.get("costs", ()):
                    stage = stages.get(kind) or event.data["stage"]
                    yield {"asked": 0, "found": 0, "micros": 0, **cost, "stage": stage}

    def names(self) -> dict[str, set[str]]:
        """Return by brand stream every name and domain that was asked for or resolved."""
        found = defaultdict[str, set[str]](set)
        for each in self("brand.lookup-started"):
            query = each.data["query"]
            found[each.stream] |= {query["brand"], query["domain"]}
        for each in self("brand.resolved"):
            if each.data["brand"]:
                found[each.stream] |= {each.data["brand"]["name"], each.data["brand"]["domain"]}
        return found

    def searches_of(self, name: str) -> list[Raw]:
        streams = {stream for stream, names in self.names().items() if name in names}
        return [
            each
            for each in self("key.search-admitted")
            if each.data["lookup"].split(".")[0] in streams
        ]


@pytest.fixture(scope="module")
def log(year: Path) -> Log:
    connection = sqlite3.connect(f"file:{year / 'log.db'}?mode=ro", uri=True)
    rows = connection.execute(
        "SELECT rowid, originator_id, topic, CAST(state AS TEXT) FROM stored_events ORDER BY 1"
    ).fetchall()
    connection.close()
    return Log([Raw(at, stream, kind, json.loads(said)) for at, stream, kind, said in rows])


@pytest.fixture(scope="module")
def opened(year: Path) -> list[RecordedEvent]:
    """The same events with people opened; erased ones read as such."""

    async def read() -> list[RecordedEvent]:
        async with stores_of(year) as stores:
            return await stores.recorded()

    return asyncio.run(read())


@pytest.fixture(scope="module")
def asked(year: Path) -> Callable[..., Rows]:
    def rows(*words: str) -> Rows:
        answered = ran(*words, "--json", "--data-dir", str(year))
        assert answered.code == 0, answered
        return answered.rows

    return rows


@pytest.fixture(scope="module")
def report(asked: Callable[..., Rows]) -> dict[str, Rows]:
    [found] = asked("report", "--since", SINCE, "--until", UNTIL)
    figures: dict[str, Rows] = found["figures"]
    return figures


@pytest.fixture(scope="module")
def tables(year: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Rows]:
    out = tmp_path_factory.mktemp("tables") / "history.duckdb"
    made = ran("events", "export", "--out", str(out), "--data-dir", str(year))
    assert made.code == 0, made

    def query(sql: str) -> Rows:
        with duckdb.connect(out, read_only=True) as database:
            cursor = database.execute(sql)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    return query


def by(rows: Rows, *names: str) -> dict[Any, dict[str, Any]]:
    key = names[0] if len(names) == 1 else None
    return {row[key] if key else tuple(row[n] for n in names): row for row in rows}


# 1. Who did we return for this brand on that day?
@pytest.mark.parametrize(
    "words", [["--brand", "Veltrana"], ["--domain", "veltrana.test"], ["--brand", "VELTRANA "]]
)
def test_a_brand_means_every_way_it_was_asked_for(
    words: list[str], log: Log, asked: Callable[..., Rows]
) -> None:
    wanted = {each.data["search"] for each in log.searches_of("Veltrana")}
    asked_alone = [
        each for each in log.searches_of("Veltrana") if not each.data["query"]["domain"]
    ]
    assert 0 < len(asked_alone) < len(wanted), "both ways to ask are in the year"

    listed = asked("searches", "list", *words)

    assert {each["search"] for each in listed} == wanted


# 2. What did this customer pay for?
def test_charges_of_keys_are_those_that_were_stored(
    log: Log, tables: Callable[[str], Rows], report: dict[str, Rows]
) -> None:
    charged = [each for each in log("key.search-settled") if each.data["charged"]]
    granted = Counter[str]()
    for each in (*log("key.issued"), *log("key.quota-granted")):
        granted[each.stream[4:]] += each.data.get("quota", 0) + each.data.get("units", 0)
    labels = {each.stream[4:]: each.data["label"] for each in log("key.issued")}
    used = Counter(each.stream[4:] for each in charged)

    keys = by(tables("FROM keys"), "key")
    assert {k: (r["label"], r["charged_units"], r["quota"]) for k, r in keys.items()} == {
        key: (labels[key], used[key], granted[key]) for key in labels
    }
    assert [row["position"] for row in tables("FROM charges")] == [e.position for e in charged]
    by_key = by(report["by_key"], "key")
    assert {key: (row["label"], row["charged"]) for key, row in by_key.items()} == {
        key: (labels[key], count) for key, count in used.items()
    }


# 6. Which source is worth its money?
def test_what_each_source_and_verifier_cost_and_gave_is_what_was_stored(
    log: Log, report: dict[str, Rows]
) -> None:
    sums = defaultdict[tuple[str, str], Counter[str]](Counter)
    for cost in log.costs():
        sums[cost["stage"], cost["name"]].update(
            {name: cost[name] for name in ("asked", "found", "micros")}
        )
    verified = Counter[tuple[str, str]]()
    for each in log("brand.lookup-finished"):
        for field, stage in (
            ("verified_from", "contact-discovery"),
            ("verified_by", "verification"),
        ):
            for name, count in each.data[field].items():
                verified[stage, name] += count
    asked_of = {key: each for key, each in sums.items() if each["asked"]}

    found = by(report["cost_per_email"], "stage", "name")

    assert {k: (r["asked"], r["found"]) for k, r in found.items()} == {
        key: (each["asked"], each["found"]) for key, each in asked_of.items()
    }
    for key, row in found.items():
        usd, emails = asked_of[key]["micros"] / 1e6, verified[key]
        assert row["usd"] == pytest.approx(usd)
        assert row["emails"] == emails
        assert row["usd_per_email"] == (
            pytest.approx(usd / emails, abs=1e-6) if emails else None
        )
    for name in ("brave", "serper", "hunter", "apollo"):
        assert found["contact-discovery", name]["found"] > 0, "also if not seen first"
    [summary] = report["summary"]
    everything = sum(each["micros"] for each in sums.values()) / 1e6
    assert everything > 1
    assert summary["usd"] == pytest.approx(everything)
    assert summary["usd_per_email"] == pytest.approx(everything / summary["emails"], abs=1e-6)


def test_counts_of_verified_people_do_not_change_when_some_are_erased(
    log: Log, report: dict[str, Rows], tables: Callable[[str], Rows]
) -> None:
    assert log("brand.contacts-erased"), "there are erasures in the year"
    finished = log("brand.lookup-finished")
    verified = sum(each.data["verified"] for each in finished)
    checks = len(log("brand.mailbox-verified"))

    [summary] = report["summary"]
    verdicts = by(report["verdicts"], "verdict")

    assert summary["emails"] == verified
    costs = [row for row in report["cost_per_email"] if row["stage"] != "brand-resolution"]
    found = dict.fromkeys(("contact-discovery", "verification"), 0)
    for row in costs:
        found[row["stage"]] += row["emails"]
    assert found == {"contact-discovery": verified, "verification": verified}
    assert sum(row["emails"] for row in report["wrong_verdicts"]) == checks
    assert verdicts["deliverable"]["people"] == checks
    assert tables("SELECT sum(verified::INT) AS n FROM mailboxes") == [{"n": checks}]
    assert tables("SELECT count(*) AS n FROM people WHERE shown_place IS NOT NULL") == [
        {"n": sum(len(each.data["contacts"]) for each in finished)}
    ]


def test_a_past_report_stays_as_it_was_when_a_person_is_erased(
    opened: list[RecordedEvent], report: dict[str, Rows], year: Path, tmp_path: Path
) -> None:
    """What was read of an address is gone with the person; no other figure is."""
    folder = tmp_path / "year"
    shutil.copytree(year, folder)
    profiles = Counter(
        person.linkedin_url
        for recorded in opened
        if isinstance(
            recorded.event, brand_events.PeopleFound | brand_events.ContactsDiscovered
        )
        for person in recorded.event.people
        if person.linkedin_url
    )
    [(profile, lookups)] = profiles.most_common(1)
    assert lookups > 5

    erased = ran("people", "erase", "--profile", str(profile), "--data-dir", str(folder))
    again = ran("report", "--since", SINCE, "--until", UNTIL, "--json", f"--data-dir={folder}")

    assert (erased.code, again.code) == (0, 0)
    [found] = again.rows
    figures = found["figures"]
    [before], [after] = report["summary"], figures["summary"]
    checks = "checks_of_people_erased_since"
    assert after.pop(checks) > before[checks]
    assert after == {name: value for name, value in before.items() if name != checks}
    changed = {name for name in report if name != "summary" and figures[name] != report[name]}
    assert changed <= {"reasons", "verdicts", "wrong_verdicts"}
    for name, column in (("verdicts", "people"), ("wrong_verdicts", "emails")):
        assert sum(r[column] for r in figures[name]) == sum(r[column] for r in report[name])


# 7. How stale is what we answer from reuse?
def test_ages_of_reused_results_are_those_of_their_runs(
    log: Log, report: dict[str, Rows]
) -> None:
    finished = {each.data["lookup"]: each.at for each in log("brand.lookup-finished")}
    reused = [each for each in log("key.search-settled") if each.data["cached"]]
    ages = [(each.at - finished[each.data["lookup"]]) / timedelta(days=1) for each in reused]
    bands = Counter(bisect_right([1, 3, 7, 14, 21, 30], age) for age in ages)

    assert len(bands) > 3
    assert [row["searches"] for row in report["reuse"]] == [bands[n] for n in range(6)]


# 8. Which mail domains refuse us?
def test_mailboxes_have_the_verdicts_that_were_stored(
    log: Log, opened: list[RecordedEvent], tables: Callable[[str], Rows]
) -> None:
    kinds = (brand_events.MailboxVerified, brand_events.MailboxNotVerified)
    wanted = {}
    for recorded in opened:
        event = recorded.event
        if isinstance(event, kinds):
            asked_of = log.all[recorded.position - 1].data["caused_by"]["id"].split("/")[2]
            verified = isinstance(event, brand_events.MailboxVerified)
            erased = not event.checked.mail_domain
            verdict = "deliverable" if verified else event.checked.verdict.value
            wanted[recorded.position] = (
                asked_of,
                verified,
                None if erased and not verified else verdict,
            )

    found = tables("SELECT position, mail_domain, verified, verdict FROM mailboxes")

    assert {row["position"]: tuple(row.values())[1:] for row in found} == wanted


def test_domains_that_refused_us_are_those_whose_servers_said_so(
    opened: list[RecordedEvent], tables: Callable[[str], Rows]
) -> None:
    """An answer counts even if another verifier knew the mailbox: it is evidence."""
    wanted = Counter(
        evidence.address.partition("@")[2]
        for recorded in opened
        if isinstance(
            recorded.event, brand_events.MailboxVerified | brand_events.MailboxNotVerified
        )
        for evidence in recorded.event.checked.evidence
        if evidence.reason == "about-us"
    )

    found = tables("SELECT mail_domain d FROM evidence WHERE rule = 'about-us'")

    assert wanted
    assert Counter(row["d"] for row in found) == wanted


# 9. Who changed jobs?
def test_roles_and_levels_are_those_that_were_ranked(
    opened: list[RecordedEvent], tables: Callable[[str], Rows]
) -> None:
    ranked = {
        f"{recorded.event.lookup}#{each.person}": (each.family, each.level)
        for recorded in opened
        if isinstance(recorded.event, brand_events.ContactsRanked)
        for each in recorded.event.ranked
        if each.title
    }

    found = tables("SELECT person, family, level FROM people WHERE family IS NOT NULL")

    assert len(ranked) > 100
    assert {row["person"]: (row["family"], row["level"]) for row in found} == ranked


# 5. What went wrong in the third week of March?
def test_an_outage_is_in_the_report_with_every_attempt_and_its_cause(
    log: Log, asked: Callable[..., Rows]
) -> None:
    failed = log("brand.attempt-failed", *BAD_WEEK)
    causes = Counter(
        (each.data["stage"], source, cause)
        for each in failed
        for source, cause in each.data["causes"].items()
    )
    answered = Counter(
        (stage, source, cause)
        for kind, stage in (
            ("brand.resolved", "brand-resolution"),
            ("brand.contacts-discovered", "contact-discovery"),
        )
        for each in log(kind, *BAD_WEEK)
        for source, cause in each.data["causes"].items()
    )
    assert {cause for _, _, cause in causes} == {
        "Wikidata answers 503",
        "SearXNG asks us to come back later (429)",
    }

    [found] = asked("report", "--since", BAD_WEEK[0], "--until", BAD_WEEK[1])

    counted = Counter[tuple[str, str, str]]()
    for row in found["figures"]["failures"]:
        counted[row["stage"], row["source"], row["cause"]] += row["attempts"]
    assert counted == causes + answered
    times = by(found["figures"]["times"], "what")
    assert sum(row["failed"] for row in times.values()) == len(failed)
    people = [a for a in found["figures"]["answers"] if a["stage"] == "contact-discovery"]
    assert [(a["source"], a["answer"], a["attempts"]) for a in people] == [
        ("searxng", "failed", 2)
    ]


# 10. What did the update of the ranking change?
def test_people_are_counted_by_the_rules_that_ranked_them(
    log: Log, tables: Callable[[str], Rows]
) -> None:
    ranked = Counter[str]()
    left_out = Counter[str]()
    for each in log("brand.contacts-ranked"):
        ranked[each.data["rules"]] += len(each.data["ranked"])
        left_out.update(left["why"] for left in each.data["left_out"])

    rules = tables("SELECT ranking_rules r, count(*) n FROM people WHERE place > 0 GROUP BY r")
    why = tables("SELECT left_out w, count(*) n FROM people WHERE w IS NOT NULL GROUP BY w")

    assert {row["r"]: row["n"] for row in rules} == ranked
    assert {row["w"]: row["n"] for row in why} == left_out


# 12. Which brands come back empty?
def test_runs_and_searches_are_counted_by_how_they_ended(
    log: Log, report: dict[str, Rows], tables: Callable[[str], Rows]
) -> None:
    runs = Counter(each.data["outcome"] for each in log("brand.lookup-finished"))
    searches = Counter(each.data["outcome"] for each in log("key.search-settled"))

    found = by(report["outcomes"], "outcome")

    assert {name: row["runs"] for name, row in found.items()} == runs
    assert {name: row["searches"] for name, row in found.items()} == searches
    by_brand = tables("SELECT sum(runs) runs, sum(searches) searches FROM by_brand")
    assert by_brand == [{"runs": runs.total(), "searches": searches.total()}]
    veltrana = by(report["by_brand"], "brand")["Veltrana"]
    assert veltrana["searches"] == len(log.searches_of("Veltrana"))


# 13. Who did what as operator?
def test_what_operators_did_to_keys_is_what_was_stored(
    log: Log, tables: Callable[[str], Rows]
) -> None:
    kinds = {"issued", "quota-granted", "rotated", "revoked"}
    done = [
        e for e in log.all if e.type.split(".")[0] == "key" and e.type.split(".")[1] in kinds
    ]

    found = tables("SELECT position, operator FROM key_events")

    assert [(row["position"], row["operator"]) for row in found] == [
        (each.position, "dana") for each in done
    ]


# 15. Do we get better at it?
def test_months_add_up_to_what_was_stored(log: Log, report: dict[str, Rows]) -> None:
    months = defaultdict[str, Counter[str]](Counter)
    for each in log("brand.lookup-finished"):
        done = each.data["outcome"] == "done"
        months[each.data["at"][:7]].update(runs=1, emails=each.data["verified"], done=done)
    for each in log("key.search-settled"):
        months[each.data["at"][:7]].update(searches=1, charged=each.data["charged"])

    found = by(report["by_month"], "month")

    assert found.keys() == months.keys()
    for month, sums in months.items():
        share = pytest.approx(sums.pop("done") / sums["runs"], abs=1e-6)
        assert {"done_share": share, **sums}.items() <= found[month].items()


def test_a_period_is_what_the_whole_year_says_of_it(
    log: Log, asked: Callable[..., Rows], year: Path, tmp_path: Path
) -> None:
    period = ("2026-04-01", "2026-05-01")
    out = tmp_path / "april.duckdb"
    words = ["--since", period[0], "--until", period[1], "--out", str(out)]
    assert ran("events", "export", *words, "--data-dir", str(year)).code == 0

    [found] = asked("report", "--since", period[0], "--until", period[1])

    [summary] = found["figures"]["summary"]
    settled, finished = (
        log(kind, *period) for kind in ("key.search-settled", "brand.lookup-finished")
    )
    assert summary["searches_answered"] == len(settled)
    assert summary["reused"] == sum(each.data["cached"] for each in settled)
    assert summary["emails"] == sum(each.data["verified"] for each in finished)
    micros = sum(cost["micros"] for cost in log.costs(*period))
    assert summary["usd"] == pytest.approx(micros / 1e6)
    with duckdb.connect(out, read_only=True) as database:
        nameless = database.execute(
            "SELECT count(*) FROM searches LEFT JOIN keys USING (key) WHERE label IS NULL"
        ).fetchone()
        runless = database.execute(
            "SELECT count(*) FROM searches ANTI JOIN lookups USING (lookup)"
        ).fetchone()
        [[charged]] = database.execute("SELECT count(*) FROM charges").fetchall()
    assert (nameless, runless) == ((0,), (0,))
    assert charged == sum(each.data["charged"] for each in settled)
