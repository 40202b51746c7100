"""A report in words: one page for the terminal and for HTML."""

from datetime import datetime

from cs.history.pages import Page, Section, head
from cs.history.report import FIGURES, Figure
from cs.history.report.figures import Report, Rows
from cs.history.words import KEPT
from cs.runtime.durations import in_words

#: The cell of an unknown value.
NOTHING = "–"
NOTHING_HAPPENED = "Nothing in this period."
#: Figures whose rows may be many: of these the first ones are shown.
LONG = {"failures", "reasons", "by_mail_domain", "by_key", "by_brand"}
#: Columns that are never shortened.
_WHOLE = {"Key", "Month", "Days"}
#: The figures that break the period down, by the word for it.
BY = {
    "key": "by_key",
    "brand": "by_brand",
    "source": "cost_per_email",
    "month": "by_month",
}
_TITLES = {
    "again": "Retries",
    "cut_off": "Timed out",
    "cut_off_by_their_deadline": "Runs timed out",
    "done_share": "Done",
    "half_answered_in_seconds": "Live answers, p50",
    "longest_seconds": "Max",
    "most_answered_in_seconds": "Live answers, p95",
    "p50_seconds": "p50",
    "p95_seconds": "p95",
    "usd": "Cost $",
    "usd_per_email": "$ per e-mail",
}


def percent(share: float | None) -> str:
    """Return *share* as people read it.

    >>> percent(0.3333), percent(1.0), percent(None)
    ('33.3 %', '100 %', '–')
    """
    return NOTHING if share is None else f"{share * 100:.3g} %"


def _day(at: datetime) -> str:
    """Return *at* as a day, or as a time of one.

    >>> _day(datetime(2026, 3, 1)), _day(datetime(2026, 3, 1, 12, 5))
    ('2026-03-01', '2026-03-01 12:05')
    """
    is_midnight = at.hour == at.minute == at.second == 0
    return at.strftime("%Y-%m-%d" if is_midnight else "%Y-%m-%d %H:%M")


def cell(column: str, value: float | str | datetime | None) -> str:
    """Return *value* of *column* as text.

    >>> cell("p50_seconds", 0.0412), cell("usd", 1.5), cell("share", 0.5), cell("runs", None)
    ('41 ms', '1.5000', '50 %', '–')
    """
    if value is None:
        return NOTHING
    if isinstance(value, datetime):
        return _day(value)
    if isinstance(value, str):
        return KEPT.get(value, value).removeprefix("left out: ")
    if "share" in column:
        return percent(value)
    if column.endswith("seconds"):
        return in_words(value)
    if column.startswith("usd"):
        return f"{value:.4f}"
    return f"{value:.3g}" if value % 1 else f"{value:.0f}"


def _title(column: str) -> str:
    """Return the heading of *column*."""
    return _TITLES.get(column) or head(column.removesuffix("_seconds"))


def report_page(report: Report, top: int) -> Page:
    """Return *report* as a page, at most *top* rows of figures that may be long."""
    left_out = ", ".join(f"{count} {why}" for why, count in report.left_out.items())
    unread = f"Left out, since they cannot be read: {left_out}; cs log verify names them."
    return Page(
        title="Report",
        lead=f"{_day(report.since)} until {_day(report.until)}, UTC",
        notes=[unread] if left_out else [],
        sections=[
            _section(figure, report.figures[figure.name], top)
            for figure in FIGURES
            if figure.name in report.figures
        ],
        foot=f"Made by cs report from {report.events} events, when the log's last position "
        f"was {report.position}. It names no person.",
    )


def _section(figure: Figure, rows: Rows, top: int) -> Section:
    if not rows:
        return Section(heading=figure.title, about=NOTHING_HAPPENED)
    shown = rows[:top] if figure.name in LONG else rows
    left = len(rows) - len(shown)
    cells = [[cell(*each) for each in row.items()] for row in shown]
    columns = [_title(column) for column in rows[0]]
    if figure.name == "summary":
        facts = [*zip(columns, cells[0], strict=True)]
        return Section(heading=figure.title, about=figure.about, facts=facts)
    is_text = [any(isinstance(row[column], str) for row in rows) for column in rows[0]]
    titles = list(zip(columns, is_text, strict=True))
    return Section(
        heading=figure.title,
        about=figure.about + (f" {left} more are not shown: --top." if left else ""),
        columns=columns,
        rows=cells,
        words=[each for each, is_words in titles if is_words and each not in _WHOLE],
        numbers=[n for n, (_, is_words) in enumerate(titles) if not is_words],
    )
