"""The report as a page that stands by itself."""

from collections.abc import Iterable, Mapping, Sequence

from cs.history.page.blocks import facts as fact_list
from cs.history.page.blocks import fold, note, section, table
from cs.history.page.columns import ChartColumn, columns
from cs.history.page.drawing import Lane, Look, ValueRange, bars, lanes, legend, seconds
from cs.history.page.markup import Html
from cs.history.page.shell import page
from cs.history.report.figures import Bucket, Report, Timing
from cs.history.report.tables import ReportTable, tables
from cs.history.report.words import counted, day, facts, notes, percent

#: How an outcome looks; the others are breakdowns.
_LOOKS: Mapping[str, Look] = {
    "done": "good",
    "no_emails": "plain",
    "no_contacts": "plain",
    "no_linkedin": "plain",
}
_LEGEND: Sequence[tuple[Look, str]] = (
    ("good", "done"),
    ("plain", "nobody, or no e-mail"),
    ("bad", "broke down"),
)
_DAY_S = 86_400
_NO_BREAK = "\u00a0"


def report_page(report: Report) -> bytes:
    """Return *report* as a page, in UTF-8."""
    return page(
        "Report",
        section("In short", _notes(report), fact_list(facts(report))),
        _sections(report) if report.events else None,
        lead=f"{day(report.since)} until {day(report.until)}, UTC",
        foot=f"Made by cs report from {report.events} events, when the log's last position was "
        f"{report.upto}. Nothing of a person is in it.",
    )


def _notes(report: Report) -> Sequence[Html]:
    if not report.events:
        return [note("Nothing happened in this period."), *map(note, notes(report))]
    return [note(each, tone="warn") for each in notes(report)]


def _sections(report: Report) -> Iterable[Html]:
    drawings = {
        "Time to answer by stage": _times(report),
        "Verdicts": _verdicts(report),
        "Age of reused results": _ages(report),
    }
    yield _over_time(report)
    for found in tables(report):
        drawing = drawings.get(found.title)
        # What is drawn with its numbers beside it needs no table.
        with_table = drawing is None or found.title == "Time to answer by stage"
        yield section(
            found.title,
            drawing,
            _table(found) if with_table else None,
            about=(found.about or None) if found.rows else None,
        )


def _table(found: ReportTable) -> Html:
    if not found.rows:
        return note(found.empty)
    numbers = [column for column in found.columns if column not in found.words]
    rows = [
        [
            cell.replace(" ", _NO_BREAK) if column in numbers else cell
            for column, cell in zip(found.columns, row, strict=True)
        ]
        for row in found.rows
    ]
    return table(found.title, found.columns, rows, numbers=numbers)


def _over_time(report: Report) -> Html:
    if not report.searches.answered:
        return section("Searches over time", note("No search was answered in this period."))
    form = "%Y-%m-%d %H:%M" if report.bucket_s < _DAY_S else "%Y-%m-%d"
    named = [(bucket.begins_at.strftime(form), bucket) for bucket in report.over_time]
    shown = [
        ChartColumn(
            name,
            _parts(bucket),
            f"{name}: {counted(bucket.outcomes)}; {bucket.reused} reused",
        )
        for name, bucket in named
    ]
    rows = [
        (
            name,
            f"{sum(bucket.outcomes.values())}",
            counted(bucket.outcomes),
            f"{bucket.reused}",
        )
        for name, bucket in named
        if bucket.outcomes
    ]
    numbers = table(
        "Searches over time",
        ("From", "Answered", "Outcomes", "Reused"),
        rows,
        numbers=("Answered", "Reused"),
    )
    return section(
        "Searches over time",
        columns(shown),
        legend(_LEGEND),
        fold("In numbers", numbers),
        about=f"Answered, by outcome; a column is {_span(report.bucket_s)}.",
    )


def _span(bucket_s: int) -> str:
    if bucket_s < _DAY_S:
        return "an hour"
    days = bucket_s // _DAY_S
    return {1: "a day", 7: "a week"}.get(days, f"{days} days")


def _parts(bucket: Bucket) -> Sequence[tuple[Look, int]]:
    return [
        (
            look,
            sum(n for name, n in bucket.outcomes.items() if _LOOKS.get(name, "bad") == look),
        )
        for look, _ in _LEGEND
    ]


def _verdicts(report: Report) -> Html | None:
    verdicts = report.mail.verdicts
    return _bars(list(verdicts.items())) if verdicts else None


def _bars(counts: Sequence[tuple[str, int]]) -> Html:
    """Return a bar for each of *counts*, with its share of all."""
    whole = sum(count for _, count in counts)
    return bars(counts, said=lambda count: f"{count:g} ({percent(count / whole)})")


def _times(report: Report) -> Html | None:
    timed = [
        ("search, live", report.searches.time_to_answer),
        ("run", report.runs.took),
        *((stage.stage, stage.took) for stage in report.stages),
    ]
    lines = [_lane(name, took) for name, took in timed if took.count]
    longest = max((took.p95_s or 0 for _, took in timed), default=0)
    if not lines or not longest:
        return None
    return Html(
        lanes(lines, until=longest)
        + legend([("good", "half of them, up to p50"), ("wait", "on to p95")])
    )


def _lane(name: str, took: Timing) -> Lane:
    p50, p95 = took.p50_s or 0.0, took.p95_s or 0.0
    spans = [ValueRange(0, p50, "good"), ValueRange(p50, p95, "wait")]
    return Lane(name, spans, f"p50 {seconds(p50)}, p95 {seconds(p95)}")


def _ages(report: Report) -> Html | None:
    shown = [
        (f"{band.from_days} to {band.to_days} days" if band.to_days else "older", band.searches)
        for band in report.freshness.bands
        if band.searches or band.to_days
    ]
    return _bars(shown) if report.freshness.age.count else None
