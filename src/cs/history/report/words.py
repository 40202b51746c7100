"""How a report says its figures, what it says first, and what has to be known of them."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from cs.domain.contact import Query
from cs.history.page import drawing
from cs.history.report.figures import Report

#: What stands where there is nothing to say.
NOTHING = "–"
#: From nothing to the most.
_SIGNS = " ▁▂▃▄▅▆▇█"


def percent(share: float | None) -> str:
    """Return *share* as people read it.

    >>> percent(0.3333), percent(1.0), percent(None)
    ('33.3 %', '100 %', '–')
    """
    return NOTHING if share is None else f"{share * 100:.3g} %"


def lasting(seconds: float | None) -> str:
    """Return *seconds* as people say them."""
    return NOTHING if seconds is None else drawing.seconds(seconds)


def share_of(part: int, whole: int) -> str:
    """Return how much of *whole* the *part* is."""
    return percent(part / whole if whole else None)


def counted(counts: Mapping[str, int]) -> str:
    """Return *counts* in a line.

    >>> counted({"used": 3, "failed": 1})
    '3 used, 1 failed'
    """
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or NOTHING


def day(at: datetime) -> str:
    """Return *at* as a day, or as a time of one.

    >>> from datetime import UTC
    >>> day(datetime(2026, 3, 1, tzinfo=UTC)), day(datetime(2026, 3, 1, 12, 5, tzinfo=UTC))
    ('2026-03-01', '2026-03-01 12:05')
    """
    is_midnight = at.hour == at.minute == at.second == 0
    return at.strftime("%Y-%m-%d" if is_midnight else "%Y-%m-%d %H:%M")


def named(query: Query | None, stream: str) -> str:
    """Return what a brand is called.

    >>> named(Query("Nike", "nike.com"), "brand-0a"), named(None, "brand-0a")
    ('Nike (nike.com)', 'brand-0a')
    """
    if query is None:
        return stream
    if query.brand and query.domain:
        return f"{query.brand} ({query.domain})"
    return query.brand or query.domain or stream


def facts(report: Report) -> Sequence[tuple[str, str]]:
    """Return what is said first."""
    searches, runs, mail = report.searches, report.runs, report.mail
    done = searches.outcomes.get("done", 0)
    return [
        ("Searches answered", f"{searches.answered}"),
        ("With an e-mail", _of(done, searches.answered)),
        ("Charged", f"{searches.charged}"),
        ("Reused", _of(searches.reused, searches.answered)),
        ("Live runs", f"{runs.finished}"),
        ("Verified e-mails", f"{runs.emails}"),
        (
            "E-mails per run",
            NOTHING if runs.emails_per_run is None else _number(runs.emails_per_run),
        ),
        ("Time to answer, half of them within", lasting(searches.time_to_answer.p50_s)),
        ("… and 95 %", lasting(searches.time_to_answer.p95_s)),
        ("Catch-all", percent(mail.catch_all_share)),
        ("Put off (greylisting)", percent(mail.put_off_share)),
        ("Age of reused results, half", lasting(report.freshness.age.p50_s)),
    ]


def notes(report: Report) -> Sequence[str]:
    """Return what a reader has to know about these figures."""
    said = []
    if report.left_out:
        said.append(
            f"Left out, since they cannot be read: {counted(report.left_out)} events; "
            "cs log verify says which."
        )
    untimed = report.searches.not_timed + report.runs.not_timed
    if untimed:
        said.append(
            f"{untimed} searches or runs began more than an hour before the period, and are "
            "not timed."
        )
    if report.mail.people_erased:
        said.append(
            f"{report.mail.people_erased} checks are of people erased since: what was found "
            "of them is in no verdict, source or verifier."
        )
    if report.freshness.not_known:
        said.append(f"The age of {report.freshness.not_known} reused results is not known.")
    return said


def sparks(report: Report) -> str:
    """Return how many searches were answered when, a sign for each bucket."""
    counts = [sum(bucket.outcomes.values()) for bucket in report.over_time]
    most = max(counts)
    signs = "".join(_SIGNS[-(-count * (len(_SIGNS) - 1) // (most or 1))] for count in counts)
    return f"{signs}  {lasting(report.bucket_s)} each, {most} at most"


def _of(part: int, whole: int) -> str:
    return f"{part} ({share_of(part, whole)})" if whole else f"{part}"


def _number(value: float) -> str:
    return f"{value:.3g}"
