"""The tables of a report, the same for the terminal and the page."""

from collections.abc import Iterable, Sequence

import msgspec

from cs.history.report.figures import Cost, Report, Timing
from cs.history.report.words import NOTHING, counted, lasting, named, percent, share_of
from cs.history.words import KEPT

NOT_RECORDED = "not recorded"


class ReportTable(msgspec.Struct, frozen=True):
    """Rows of text.

    Attributes:
        title: What they are.
        columns: Heads.
        rows: As many cells as there are columns; some may come from anywhere.
        about: A sentence below the title.
        words: Columns of words, which may be folded; the others are numbers.
        empty: Said if there are no rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    about: str = ""
    words: Sequence[str] = ()
    empty: str = "Nothing in this period."


def tables(report: Report) -> Sequence[ReportTable]:
    """Return all tables, in order."""
    return [
        _outcomes(report),
        _stages(report),
        _brand_sources(report),
        _people_sources(report),
        _left_out(report),
        _verifiers(report),
        _spend(report),
        _verdicts(report),
        _reasons(report),
        _disagreements(report),
        _wrong(report),
        _freshness(report),
        *_busiest(report),
    ]


def _outcomes(report: Report) -> ReportTable:
    searches, runs = report.searches, report.runs
    names = {**searches.outcomes, **runs.outcomes}
    return ReportTable(
        "Outcomes",
        ("Outcome", "Searches", "Share", "Live runs", "Share of runs"),
        [
            (
                name,
                f"{searches.outcomes.get(name, 0)}",
                share_of(searches.outcomes.get(name, 0), searches.answered),
                f"{runs.outcomes.get(name, 0)}",
                share_of(runs.outcomes.get(name, 0), runs.finished),
            )
            for name in names
        ],
        f"{searches.asked} searches were asked for, {searches.repeated} once more while they "
        f"ran; {runs.cut_off} runs ended by their deadline with what they had.",
        words=("Outcome",),
    )


def _stages(report: Report) -> ReportTable:
    def row(name: str, took: Timing, *others: str) -> Sequence[str]:
        times = (lasting(took.p50_s), lasting(took.p95_s), lasting(took.max_s))
        return (name, f"{took.count}", *times, *others)

    nothing = not any(
        stage.took.count or stage.not_ended or stage.failed_attempts or stage.issued_again
        for stage in report.stages
    )
    rows = [
        row("search, live", report.searches.time_to_answer, *[NOTHING] * 3),
        row("run", report.runs.took, *[NOTHING] * 3),
        *(
            row(
                stage.stage,
                stage.took,
                f"{stage.not_ended}",
                f"{stage.failed_attempts}",
                f"{stage.issued_again}",
            )
            for stage in report.stages
        ),
    ]
    return ReportTable(
        "Time to answer by stage",
        ("What", "Timed", "p50", "p95", "Max", "Open", "Failed", "Again"),
        [] if nothing else rows,
        "A stage lasts from its first work to the end of its last. Open: in runs "
        "that were over before it. Failed: attempts. Again: work issued more than once.",
        words=("What",),
        empty="No run was at work in this period.",
    )


#: What to hold our own figure against, as a hosted waterfall of a dozen finders states it for
#: its customers; looked up in November 2026.
WATERFALL_SAYS = "a hosted waterfall states $0.016 to $0.048 a found one"


def _costs(costs: Sequence[Cost | None]) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
    """Return heads and cells of the columns of *costs*, and what is said of them.

    There are none unless a price is known.
    """
    if not any(costs):
        return (), [() for _ in costs], f"Cost: {NOT_RECORDED}; --price NAME=AMOUNT says it."
    cells = [
        (NOT_RECORDED, NOT_RECORDED)
        if cost is None
        else (f"{cost.total}", NOTHING if cost.per_email is None else f"{cost.per_email}")
        for cost in costs
    ]
    said = (
        "Cost: price times questions answered, by the prices given; what the log has is below."
    )
    return ("Cost", "Per e-mail"), cells, said


def _brand_sources(report: Report) -> ReportTable:
    heads, costs, said = _costs([each.cost for each in report.brand_sources])
    return ReportTable(
        "Brand sources",
        ("Source", "Ended", "Answered", "E-mails", *heads),
        [
            (each.source, counted(each.ended), f"{each.answered}", f"{each.emails}", *cost)
            for each, cost in zip(report.brand_sources, costs, strict=True)
        ],
        f"E-mails: verified in runs in which it was used. {said}",
        words=("Source", "Ended"),
        empty="No brand source was asked in this period.",
    )


def _people_sources(report: Report) -> ReportTable:
    heads, costs, said = _costs([each.cost for each in report.people_sources])
    return ReportTable(
        "People sources",
        ("Source", "Ended", "Found", "In a role", "E-mails", "Yield", *heads),
        [
            (
                each.source,
                counted(each.ended),
                f"{each.found}",
                f"{each.ranked}",
                f"{each.emails}",
                share_of(each.emails, each.found),
                *cost,
            )
            for each, cost in zip(report.people_sources, costs, strict=True)
        ],
        f"Yield: of people found. Whoever two sources saw counts for both. {said}",
        words=("Source", "Ended"),
        empty="No people source was asked in this period.",
    )


def _left_out(report: Report) -> ReportTable:
    runs = report.runs
    return ReportTable(
        "Left out",
        ("Why", "People", "Share"),
        [
            (KEPT.get(why, why).removeprefix("left out: "), f"{people}", share)
            for why, people in runs.left_out.items()
            for share in [share_of(people, runs.people_found)]
        ],
        f"Of {runs.people_found} people found, {runs.people_ranked} were kept in a role.",
        words=("Why",),
        empty="Nobody was left out in this period.",
    )


def _verifiers(report: Report) -> ReportTable:
    heads, costs, said = _costs([each.cost for each in report.verifiers])
    return ReportTable(
        "Verifiers",
        ("Verifier", "Said", "Asked", "No reply", "E-mails", "Yield", "Bounced", *heads),
        [
            (
                each.verifier,
                counted(each.verdicts),
                f"{each.asked}",
                f"{each.unanswered}",
                f"{each.emails}",
                percent(each.yield_share),
                f"{each.bounced}",
                *cost,
            )
            for each, cost in zip(report.verifiers, costs, strict=True)
        ],
        "Asked: about addresses. Yield: e-mails verified of those. Bounced: e-mails that it "
        f"had vouched for and that mail came back from, as was told in this period. {said}",
        words=("Verifier", "Said"),
        empty="No verifier was asked in this period.",
    )


def _spend(report: Report) -> ReportTable:
    spend = report.spend
    per_email = NOTHING if spend.usd_per_email is None else f"${spend.usd_per_email}"
    return ReportTable(
        "Cost per verified e-mail",
        ("Stage", "Asked", "Questions", "Paid calls", "Cost $", "E-mails", "$ per e-mail"),
        [
            (
                each.stage,
                each.name,
                f"{each.asked}",
                f"{each.calls}",
                f"{each.usd}",
                f"{each.emails}",
                NOTHING if each.usd_per_email is None else f"{each.usd_per_email}",
            )
            for each in spend.of_each
        ],
        f"As the log has it, failed attempts too: ${spend.usd} in all, {per_email} a verified "
        f"e-mail of {report.runs.emails}; {WATERFALL_SAYS}. E-mails: of people whom a source "
        "named first, or that a verifier confirmed.",
        words=("Stage", "Asked"),
        empty="What runs cost was not recorded in this period.",
    )


def _verdicts(report: Report) -> ReportTable:
    mail = report.mail
    known = mail.people_checked - mail.people_erased
    return ReportTable(
        "Verdicts",
        ("Verdict", "People", "Share"),
        [(name, f"{count}", share_of(count, known)) for name, count in mail.verdicts.items()],
        f"Of people at one mail domain each. {mail.domains_checked} times a run was done with "
        f"a mail domain: {mail.domains_catch_all} accept every address, "
        f"{mail.domains_put_off} had us come back later, as greylisting does.",
        words=("Verdict",),
        empty="Nobody was checked in this period.",
    )


def _reasons(report: Report) -> ReportTable:
    asked = sum(each.asked for each in report.verifiers)
    return ReportTable(
        "Reasons",
        ("Reason", "Verdict", "Addresses", "Share"),
        [
            (each.reason, each.verdict, f"{each.addresses}", share_of(each.addresses, asked))
            for each in report.mail.reasons
        ],
        "The most frequent ones, by address asked about.",
        words=("Reason", "Verdict"),
        empty="Nobody was checked in this period.",
    )


def _wrong(report: Report) -> ReportTable:
    mail = report.mail
    told = counted(mail.bounces)
    return ReportTable(
        "Wrong verdicts",
        ("Verifier", "Rule", "E-mails", "Bounced", "Share"),
        [
            (
                each.verifier,
                each.reason or NOT_RECORDED,
                f"{each.emails}",
                f"{each.bounced}",
                percent(each.bounced_share),
            )
            for each in mail.rules
        ],
        f"By which rule e-mails were verified in this period, and which of its e-mails mail "
        f"came back from for good, as was told in it. Bounces told of: {told} "
        "(cs mailboxes bounced).",
        words=("Verifier", "Rule"),
        empty="No e-mail was verified and no bounce told of in this period.",
    )


def _disagreements(report: Report) -> ReportTable:
    mail = report.mail
    return ReportTable(
        "Disagreements",
        ("Verifier", "Said", "The other", "Said so", "Addresses", "Share"),
        [
            (
                each.one,
                each.one_said,
                each.other,
                each.other_said,
                f"{each.addresses}",
                share_of(each.addresses, mail.asked_of_several),
            )
            for each in mail.disagreements
        ],
        f"Of {mail.asked_of_several} addresses of which several verifiers said something.",
        words=("Verifier", "Said", "The other", "Said so"),
        empty="No two verifiers said different things.",
    )


def _freshness(report: Report) -> ReportTable:
    reused = report.freshness.age.count
    return ReportTable(
        "Age of reused results",
        ("Days", "Searches", "Share"),
        [
            (
                f"{band.from_days} to {band.to_days}"
                if band.to_days
                else f"{band.from_days} on",
                f"{band.searches}",
                share_of(band.searches, reused),
            )
            for band in report.freshness.bands
            if band.searches or band.to_days
        ]
        if reused
        else [],
        f"Half are younger than {lasting(report.freshness.age.p50_s)}, 95 % than "
        f"{lasting(report.freshness.age.p95_s)}."
        if reused
        else "",
        words=("Days",),
        empty="No result was reused in this period.",
    )


def _busiest(report: Report) -> Iterable[ReportTable]:
    busiest = report.busiest
    yield ReportTable(
        "Busiest keys",
        ("Label", "Key", "Searches", "Charged", "Reused"),
        [
            (
                each.label or NOTHING,
                each.key,
                f"{each.searches}",
                f"{each.charged}",
                f"{each.reused}",
            )
            for each in busiest.keys
        ],
        _short(busiest.keys_short_by),
        words=("Label", "Key"),
    )
    yield ReportTable(
        "Busiest brands",
        ("Brand", "Searches", "Charged", "Reused"),
        [
            (
                named(each.query, each.stream),
                f"{each.searches}",
                f"{each.charged}",
                f"{each.reused}",
            )
            for each in busiest.brands
        ],
        _short(busiest.brands_short_by),
        words=("Brand",),
    )
    yield ReportTable(
        "Busiest mail domains",
        ("Mail domain", "People", "Verified", "Checks", "Catch-all", "Put off"),
        [
            (
                each.mail_domain,
                f"{each.people}",
                f"{each.verified}",
                f"{each.checks}",
                f"{each.catch_all}",
                f"{each.put_off}",
            )
            for each in busiest.mail_domains
        ],
        _short(busiest.mail_domains_short_by),
        words=("Mail domain",),
    )


def _short(by: int) -> str:
    return f"So many names that the first count may be too low by {by}." if by else ""
