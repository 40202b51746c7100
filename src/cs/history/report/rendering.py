"""A report in words: the same text for the terminal and the page."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from cs.history.pages import Bar, Page, Section, page_html
from cs.history.report.figures import FigureRows, Report
from cs.history.words import KEPT, seconds

#: What stands where there is nothing to say.
NOTHING = "–"
#: From nothing to the most.
_SIGNS = " ▁▂▃▄▅▆▇█"
#: Figures whose rows may be many: of these the first ones are shown.
LONG = {"failures", "reasons", "by_mail_domain", "by_key", "by_brand"}
#: Columns of ids and times, which are never shortened.
_WHOLE = {"key", "month", "days"}
#: The figures that break the period down, by the word for it.
BY = {
    "key": "by_key",
    "brand": "by_brand",
    "source": "cost_per_email",
    "month": "by_month",
}
_TITLES = {"usd": "Cost $", "usd_per_email": "$ each"}


class TextTable(msgspec.Struct, frozen=True):
    """A figure as text.

    Attributes:
        title, about: As the figure has them.
        columns: Heads.
        rows: A text for each column.
        words: Columns of words, which may be shortened.
        left_out: Rows that are not shown.
    """

    title: str
    about: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str]
    left_out: int = 0


def percent(share: float | None) -> str:
    """Return *share* as people read it.

    >>> percent(0.3333), percent(1.0), percent(None)
    ('33.3 %', '100 %', '–')
    """
    return NOTHING if share is None else f"{share * 100:.3g} %"


def day(at: datetime) -> str:
    """Return *at* as a day, or as a time of one.

    >>> day(datetime(2026, 3, 1)), day(datetime(2026, 3, 1, 12, 5))
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
        return day(value)
    if isinstance(value, str):
        return KEPT.get(value, value).removeprefix("left out: ")
    if "share" in column:
        return percent(value)
    if column.endswith("seconds"):
        return seconds(value)
    if column.startswith("usd"):
        return f"{value:.4f}"
    return f"{value:.3g}" if value % 1 else f"{value:.0f}"


def head(column: str) -> str:
    """Return what stands above *column*.

    >>> head("emails_per_run"), head("p50_seconds"), head("usd")
    ('E-mails per run', 'P50', 'Cost $')
    """
    words = column.removesuffix("_seconds").replace("_", " ").replace("email", "e-mail")
    return _TITLES.get(column) or words[:1].upper() + words[1:]


def text_of(found: FigureRows, top: int) -> TextTable:
    """Return *found* as text, at most *top* rows of one that may be long."""
    rows = found.rows[:top] if found.figure.name in LONG else found.rows
    words = [
        head(column)
        for n, column in enumerate(found.columns)
        if column not in _WHOLE and any(isinstance(row[n], str) for row in found.rows)
    ]
    return TextTable(
        found.figure.title,
        found.figure.about,
        [head(column) for column in found.columns],
        [[cell(*each) for each in zip(found.columns, row, strict=True)] for row in rows],
        words,
        len(found.rows) - len(rows),
    )


def summary(report: Report) -> Sequence[tuple[str, str]]:
    """Return what is said first: the one row of the first figure."""
    [row] = report.figures[0].plain()
    return [(head(column), cell(column, value)) for column, value in row.items()]


def notes(report: Report) -> Sequence[str]:
    """Return what has to be known of the figures."""
    left_out = ", ".join(f"{count} {why}" for why, count in report.left_out.items())
    unread = f"Left out, since they cannot be read: {left_out}; cs log verify names them."
    return [unread] if left_out else []


def sparks(report: Report) -> str:
    """Return searches over time, a sign for each bucket."""
    rows = next(each for each in report.figures if each.figure.name == "over_time").plain()
    counts = [row["searches"] for row in rows]
    most = max(counts, default=0)
    return "".join(_SIGNS[-(-count * (len(_SIGNS) - 1) // (most or 1))] for count in counts)


def report_page(report: Report, top: int) -> bytes:
    """Return *report* as a page that stands by itself, in UTF-8."""
    return page_html(
        Page(
            title="Report",
            lead=f"{day(report.since)} until {day(report.until)}, UTC",
            notes=notes(report),
            sections=[
                Section(heading="In short", facts=summary(report)),
                *(_section(found, text_of(found, top)) for found in report.figures[1:]),
            ],
            foot=f"Made by cs report from {report.events} events, when the log's last position "
            f"was {report.position}. It names nobody.",
        )
    )


def _section(found: FigureRows, text: TextTable) -> Section:
    if not text.rows:
        return Section(heading=text.title, about="Nothing in this period.")
    more = f" {text.left_out} more are not shown." if text.left_out else ""
    return Section(
        heading=text.title,
        about=text.about + more,
        bars=_bars(found, len(text.rows)),
        columns=text.columns,
        rows=text.rows,
        numbers=[column for column in text.columns if column not in text.words],
    )


def _bars(found: FigureRows, shown: int) -> Sequence[Bar]:
    """Return a bar for each row of a figure that has a share, if it has one."""
    if "share" not in found.columns or shown < 2:
        return ()
    at = found.columns.index("share")
    return [
        Bar(str(row[0]), [(0.0, row[at] or 0.0, "good")], percent(row[at]))
        for row in found.rows[:shown]
    ]
