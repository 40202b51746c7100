"""Making a report: tables of its period in a private file, and the figures run over them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import msgspec

from cs.eventlog.port import DamagedEvent, EventLog, NewerEvent
from cs.history.export import TableWriter, fill
from cs.history.history import Progress, unseen
from cs.history.part_folder import disk_failures, private_folder
from cs.history.report import FIGURES, Figure
from cs.history.selection import Selection
from cs.keystore.port import KeyStore

#: The rows of a figure, by column.
Rows = Sequence[Mapping[str, Any]]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A period in figures.

    Attributes:
        since, until: The period, the first moment in it and the first after it.
        position: The last position of the log when it was made.
        events: Events of the period that were read.
        left_out: Events that could not be read, by why: ``damaged`` or ``newer``.
        figures: The rows of each figure by its name, in order.
    """

    since: datetime
    until: datetime
    position: int
    events: int
    left_out: Mapping[str, int]
    figures: Mapping[str, Rows]


async def make_report(
    log: EventLog,
    keys: KeyStore,
    since: datetime,
    until: datetime,
    *,
    progress: Progress = unseen,
) -> Report:
    """Return the figures of a period, which name no person.

    The tables are in a private temporary folder meanwhile, with no personal column in them.
    Searches and runs of the period may begin before it.  Those of the canary are left out.

    Raises:
        ExportFailed: The tables cannot be made.
        LogUnavailable: Log or keys are away.
    """
    unread: dict[int, str] = {}

    def leave_out(error: DamagedEvent | NewerEvent) -> None:
        unread[error.position] = "newer" if isinstance(error, NewerEvent) else "damaged"

    head = await log.head()
    selection = Selection(since=since, until=until, upto=head)
    place = Path(gettempdir())
    with (
        disk_failures(place),
        private_folder(place, "cs-report-") as folder,
        closing(TableWriter(folder)) as writer,
    ):
        await fill(
            writer,
            log,
            keys,
            selection,
            canary=False,
            unreadable=leave_out,
            progress=progress,
        )
        database = writer.make_file(folder / "made.duckdb")
        figures = {figure.name: _rows(database, figure) for figure in FIGURES}
        [(events,)] = writer.run("SELECT count(*) FROM events")
    return Report(
        since=since,
        until=until,
        position=head,
        events=events,
        left_out=dict(sorted(Counter(unread.values()).items())),
        figures=figures,
    )


def _rows(database: Any, figure: Figure) -> Rows:
    cursor = database.execute(figure.sql)
    columns = [column[0] for column in cursor.description or ()]
    return [dict(zip(columns, map(_rounded, row), strict=True)) for row in cursor.fetchall()]


def _rounded(value: Any) -> Any:
    """Return *value* rounded to six digits, as sums of fractions are not exact."""
    return round(value, 6) if isinstance(value, float) else value
