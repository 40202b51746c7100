"""Every figure of a report, held against a naive count over made-up histories."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import BrandResolved, ContactsDiscovered
from cs.eventlog.memory import MemoryEventLog
from cs.history.report import reading
from cs.history.report.counting import BusiestNames, Durations
from cs.history.report.events import SLIM
from cs.history.report.figures import Report, Timing
from cs.history.report.names import OTHERS
from cs.history.report.page import report_page
from cs.history.report.period import BUCKETS, Period, floor
from cs.history.report.reading import make_report
from cs.keystore.memory import MemoryKeyStore
from history.report.made_up import AT, BRANDS, KEYS, Entry, histories, in_memory
from history.report.naive import Naive, quantiles

PERIODS = st.builds(
    lambda first, minutes: Period(
        AT + timedelta(minutes=first), AT + timedelta(minutes=first + minutes)
    ),
    st.integers(-100, 6000),
    st.sampled_from([1, 60, 24 * 60, 7 * 24 * 60]),
)
#: Holds all that is made up.
ALL = Period(AT, AT + timedelta(days=30))
ERASED = st.sets(st.integers(0, 40), max_size=4)


async def reported(
    entries: Sequence[Entry], period: Period, erased: Iterable[int] = ()
) -> tuple[Report, Naive]:
    log, keys = await in_memory(entries)
    named = sorted(keys._keys)
    await keys.destroy([named[n] for n in erased if n < len(named)])
    report = await make_report(log, keys, period)
    return report, Naive(await log.tail(0, 1_000_000), period)


def times(timing: Timing) -> tuple[int, float | None, float | None, float | None]:
    return timing.count, timing.p50_s, timing.p95_s, timing.max_s


@given(histories(), PERIODS)
async def test_searches_are_counted_when_they_are_answered(
    entries: list[Entry], period: Period
) -> None:
    report, naive = await reported(entries, period)

    searches, settled = report.searches, naive.settled()
    assert (searches.asked, searches.repeated) == naive.asked()
    assert searches.outcomes == Counter(each.outcome for each in settled)
    assert searches.answered == len(settled) == sum(searches.outcomes.values())
    assert searches.charged == sum(each.charged for each in settled)
    assert searches.reused == sum(each.cached for each in settled)
    assert times(searches.time_to_answer) == quantiles(naive.time_to_answer())
    assert searches.not_timed == 0
    assert times(report.freshness.age) == quantiles(naive.ages())
    for band in report.freshness.bands:
        ages = [age.days for age in naive.ages()]
        end = band.to_days or 10**6
        assert band.searches == sum(band.from_days <= age < end for age in ages)


@given(histories(), PERIODS)
async def test_runs_and_stages_are_counted_when_runs_finish(
    entries: list[Entry], period: Period
) -> None:
    report, naive = await reported(entries, period)

    finished = naive.finished()
    assert report.runs.finished == len(finished) == sum(report.runs.outcomes.values())
    assert report.runs.outcomes == Counter(each.outcome for each in finished)
    assert report.runs.cut_off == sum(each.cut_off for each in finished)
    assert report.runs.emails == sum(each.verified for each in finished)
    assert times(report.runs.took) == quantiles(naive.run_took())
    for stage in report.stages:
        took, not_ended = naive.stage(stage.stage)
        assert (times(stage.took), stage.not_ended) == (quantiles(took), not_ended)
        assert (stage.failed_attempts, stage.issued_again) == naive.attempts(stage.stage)


@given(histories(), PERIODS, ERASED)
async def test_sources_are_counted_by_what_came_of_them(
    entries: list[Entry], period: Period, erased: set[int]
) -> None:
    report, naive = await reported(entries, period, erased)

    people = naive.people()
    runs = report.runs
    assert (runs.people_found, runs.people_ranked, runs.people_verified) == people.pop("")
    ended = naive.sources(ContactsDiscovered)
    assert {each.source for each in report.people_sources} == {*people, *ended}
    for each in report.people_sources:
        assert (each.found, each.ranked, each.emails) == people.get(each.source, (0, 0, 0))
        assert each.ended == ended.get(each.source, {})
    assert {each.source: each.ended for each in report.brand_sources} == naive.sources(
        BrandResolved
    )
    for source in report.brand_sources:
        assert source.emails == naive.emails_where_used(source.source)
        assert source.answered == source.ended.get("used", 0) + source.ended.get(
            "no_results", 0
        )


@given(histories(), PERIODS, ERASED)
async def test_verdicts_are_counted_but_for_those_of_erased_people(
    entries: list[Entry], period: Period, erased: set[int]
) -> None:
    report, naive = await reported(entries, period, erased)

    mail, checks, evidence = report.mail, naive.checks(), naive.evidence()
    assert mail.people_erased == len(naive.checks(erased=True))
    assert mail.people_checked == len(checks) + mail.people_erased
    assert mail.verdicts == Counter(each.verdict.value for each in checks)
    assert sum(mail.verdicts.values()) == len(checks)
    for verifier in report.verifiers:
        own = [each for each in evidence if each.verifier == verifier.verifier]
        assert verifier.asked == len(own)
        assert verifier.verdicts == Counter(each.verdict.value for each in own)
        assert verifier.unanswered == sum(not each.answered for each in own)
        assert verifier.emails == sum(c.verifier == verifier.verifier for c in checks)
    assert sum(each.asked for each in report.verifiers) == len(evidence)
    reasons = Counter[tuple[str, str]]()
    for each in evidence:
        shown = each.reason if each.reason in {"accepted", "greylisted"} else OTHERS
        reasons[shown, each.verdict.value] += 1
    found = {(each.reason, each.verdict): each.addresses for each in mail.reasons}
    in_order = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    assert found == dict(in_order[: len(found)])
    assert len(found) == min(len(reasons), 10)
    several, disagreements = naive.disagreements()
    assert mail.asked_of_several == several
    assert {
        (each.one, each.one_said, each.other, each.other_said): each.addresses
        for each in mail.disagreements
    } == disagreements


@given(histories(), PERIODS, ERASED)
async def test_the_busiest_are_named_with_what_they_did(
    entries: list[Entry], period: Period, erased: set[int]
) -> None:
    report, naive = await reported(entries, period, erased)

    busiest, domains = report.busiest, naive.domains()
    assert {
        f"key-{each.key}": [each.searches, each.charged, each.reused] for each in busiest.keys
    } == naive.by_stream(lambda stream, _: stream)
    for key in busiest.keys:
        assert key.label == f"label {KEYS.index(f'key-{key.key}')}"
    assert {
        each.stream: [each.searches, each.charged, each.reused] for each in busiest.brands
    } == naive.by_stream(lambda _, settled: stream_of(settled.lookup))
    assert {each.query for each in busiest.brands} <= set(BRANDS)
    assert {
        each.mail_domain: [
            each.people,
            each.verified,
            each.checks,
            each.catch_all,
            each.put_off,
        ]
        for each in busiest.mail_domains
    } == domains
    mail = report.mail
    assert mail.domains_checked == sum(row[2] for row in domains.values())
    assert mail.domains_catch_all == sum(row[3] for row in domains.values())
    assert mail.domains_put_off == sum(row[4] for row in domains.values())


@given(histories(), PERIODS)
async def test_what_happened_when_adds_up(entries: list[Entry], period: Period) -> None:
    report, naive = await reported(entries, period)

    assert sum(each.reused for each in report.over_time) == report.searches.reused
    total = Counter[str]()
    for bucket in report.over_time:
        total.update(bucket.outcomes)
        end = bucket.begins_at + timedelta(seconds=report.bucket_s)
        inside = [e for e in naive.settled() if bucket.begins_at <= e.at < end]
        assert bucket.outcomes == Counter(each.outcome for each in inside)
    assert total == report.searches.outcomes
    assert len(report.over_time) <= BUCKETS


@given(histories(), ERASED)
async def test_periods_next_to_each_other_add_up(
    entries: list[Entry], erased: set[int]
) -> None:
    middle = AT + timedelta(days=2)
    whole, _ = await reported(entries, ALL, erased)
    one, _ = await reported(entries, Period(ALL.since, middle), erased)
    other, _ = await reported(entries, Period(middle, ALL.until), erased)

    assert one.events + other.events == whole.events
    for name in ("answered", "charged", "reused", "asked"):
        parts = [getattr(each.searches, name) for each in (one, other)]
        assert sum(parts) == getattr(whole.searches, name)
    for name in ("finished", "emails", "people_found", "people_ranked", "people_verified"):
        parts = [getattr(each.runs, name) for each in (one, other)]
        assert sum(parts) == getattr(whole.runs, name)
    for name in ("people_checked", "people_erased", "domains_checked", "asked_of_several"):
        parts = [getattr(each.mail, name) for each in (one, other)]
        assert sum(parts) == getattr(whole.mail, name)


@given(histories(), PERIODS)
async def test_nobody_is_in_a_report_and_it_is_the_same_each_time(
    entries: list[Entry], period: Period
) -> None:
    first, _ = await reported(entries, period)
    again, _ = await reported(entries, period)

    encoded = msgspec.json.encode(first)
    assert encoded == msgspec.json.encode(again)
    page = report_page(first)
    assert page == report_page(again)
    for personal in (b"Ada", b"ada@", b"kern", b"x@y.test"):
        assert personal not in encoded
        assert personal not in page


@given(histories())
async def test_windows_make_no_difference(entries: list[Entry]) -> None:
    whole, _ = await reported(entries, ALL)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "WINDOW", 3)
        in_windows, _ = await reported(entries, ALL)

    assert in_windows == whole


@given(histories())
async def test_results_of_runs_before_the_period_have_their_age(entries: list[Entry]) -> None:
    later = Period(AT + timedelta(days=2), AT + timedelta(days=30))

    report, naive = await reported(entries, later)

    assert times(report.freshness.age) == quantiles(naive.ages())
    assert report.freshness.not_known == 0


@given(histories(), st.decimals(0, 10, places=3))
async def test_a_cost_is_the_price_of_what_was_answered(
    entries: list[Entry], price: Decimal
) -> None:
    log, keys = await in_memory(entries)

    report = await make_report(log, keys, ALL, prices={"smtp": price, "searxng": price})

    for verifier in report.verifiers:
        if verifier.verifier != "smtp":
            assert verifier.cost is None
            continue
        assert verifier.cost is not None
        assert verifier.cost.total == price * (verifier.asked - verifier.unanswered)
        if verifier.emails:
            assert verifier.cost.per_email is not None
            off = abs(verifier.cost.per_email - verifier.cost.total / verifier.emails)
            assert off <= Decimal("0.0001")
        else:
            assert verifier.cost.per_email is None
    for source in report.people_sources:
        assert (source.cost is not None) == (source.source == "searxng")
        if source.cost is not None:
            assert source.cost.total == price * source.answered


async def test_an_empty_period_says_so() -> None:
    log, keys = MemoryEventLog(MemoryKeyStore()), MemoryKeyStore()

    report = await make_report(log, keys, ALL)

    assert report.searches.answered == report.runs.finished == report.events == 0
    assert report.searches.reused_share is None
    assert b"Nothing happened in this period." in report_page(report)


@given(st.lists(st.integers(0, 10**9), max_size=50))
def test_quantiles_are_exact_in_three_digits(milliseconds: list[int]) -> None:
    durations = Durations()
    for each in milliseconds:
        durations.add(timedelta(milliseconds=each))

    assert times(durations.timing()) == quantiles(
        timedelta(milliseconds=each) for each in milliseconds
    )


@given(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=200), st.integers(1, 20))
def test_the_busiest_are_short_by_no_more_than_is_told(names: list[str], kept: int) -> None:
    busiest = BusiestNames(kept)
    for name in names:
        busiest.add(name, 1, 2)

    exact = Counter(names)
    found = busiest.top(100)
    assert len(found) <= 2 * kept
    for name, (count, _) in found:
        assert count <= exact[name] <= count + busiest.missing
    for name, count in exact.items():
        assert count <= busiest.missing or name in dict(found)
    if len(exact) <= 2 * kept:
        assert busiest.missing == 0
        assert {name: count for name, (count, _) in found} == exact
    assert busiest.missing <= len(names) / (kept + 1)


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)),  # noqa: DTZ001
    st.timedeltas(timedelta(seconds=1), timedelta(days=20_000)),
)
def test_buckets_hold_their_period_and_no_more(first: datetime, long: timedelta) -> None:
    period = Period(first.replace(tzinfo=UTC), first.replace(tzinfo=UTC) + long)

    buckets, step = period.buckets(), period.step

    assert 1 <= len(buckets) <= BUCKETS
    assert buckets[0] <= period.since < buckets[0] + step
    assert buckets[-1] < period.until <= buckets[-1] + step
    assert all(floor(each, step) == each for each in buckets)


@pytest.mark.parametrize("event", SLIM)
def test_what_is_read_of_an_event_is_there(event: type[Any]) -> None:
    assert {*SLIM[event].__struct_fields__} <= {*event.__struct_fields__}
