"""A log in which everything has happened that the views tell of."""

from datetime import timedelta

from cs.domain.brand.events import BrandForgotten
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import (
    KeyIssued,
    KeyRevoked,
    KeyRotated,
    QuotaGranted,
    SearchAdmitted,
    SearchRepeated,
    settled,
)
from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import RankingDone, Resolved
from cs.eventlog.port import NO_STREAM, Append, EventLog
from domain.acme_run import AT, AT_TWO_DOMAINS, HOME, PARENT, AcmeRun, checked, ranked

DONE, FAILED, LIVE, FORGOTTEN = "brand-done", "brand-failed", "brand-live", "brand-forgotten"


def issued(quota: int = 9) -> KeyIssued:
    return KeyIssued(label="agency", quota=quota, secret_hash="h1", last4="aaaa", at=AT)


def admitted(search: str, lookup: str, brand: str = "Acme") -> SearchAdmitted:
    return SearchAdmitted(search=search, brand=brand, query=Query(brand), lookup=lookup, at=AT)


def done(stream: str = DONE) -> AcmeRun:
    run = AcmeRun(stream=stream).resolved(AT_TWO_DOMAINS).discovered()
    asked = SourceCost(name="opinion", asked=2, calls=1, micros=2_000)
    run.record("ranking", RankingDone((ranked("p1"), ranked("p2", "social")), costs=(asked,)))
    run.verified(
        checked("p1", Verdict.DELIVERABLE, local="ada.kern"),
        checked("p2", Verdict.UNDELIVERABLE),
    )
    return run.verified(at=PARENT)


def failed(stream: str = FAILED) -> AcmeRun:
    run = AcmeRun(stream=stream)
    costs = (SourceCost(name="panel", asked=1, calls=1, micros=1_000),)
    run.record("brand-resolution", Resolved(status="no_match", costs=costs))
    return run


async def write(log: EventLog) -> None:
    """Append the history: two keys, four brands, searches that run, ended and were reused."""
    forgotten = done(FORGOTTEN)
    one: list[AnyEvent] = [
        issued(),
        admitted("s-done", f"{DONE}.1"),
        SearchRepeated(search="s-done", at=AT),
        settled("s-done", f"{DONE}.1", "done", 1, cached=False, at=AT),
        admitted("s-failed", f"{FAILED}.1", "Nobody"),
        settled("s-failed", f"{FAILED}.1", "no_linkedin", 0, cached=False, at=AT),
        QuotaGranted(units=3, at=AT),
        KeyRotated(secret_hash="h2", last4="bbbb", at=AT),
        admitted("s-live", f"{LIVE}.1", "Zenith"),
    ]
    two: list[AnyEvent] = [
        issued(2),
        admitted("s-reused", f"{DONE}.1", "ACME"),
        settled("s-reused", f"{DONE}.1", "done", 1, cached=True, at=AT),
        KeyRevoked(at=AT),
    ]
    end = BrandForgotten(at=forgotten.at + timedelta(seconds=1))
    await log.append([Append("key-one", NO_STREAM, one[:1])])
    await log.append(
        [
            Append(DONE, NO_STREAM, done().events),
            Append("key-one", 0, one[1:]),
        ]
    )
    await log.append([Append(FAILED, NO_STREAM, failed().events)])
    await log.append([Append(LIVE, NO_STREAM, AcmeRun(stream=LIVE).resolved().events)])
    await log.append([Append(FORGOTTEN, NO_STREAM, [*forgotten.events, end])])
    await log.append([Append("key-two", NO_STREAM, two)])


ADA_IS_AT = f"ada.kern@{HOME}"
