"""``cs replay views``: the views made again from the log, next to the running ones."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.assembly.view_replay import replay_views
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import Table, stop
from cs.cli.progress import Progress
from cs.history.changes import changes
from cs.history.masking import plain_state
from cs.projections.rebuild import NotReplayable, ReplayProgress, ReplaySummary, RowDifference

#: What differs of rows whose values are not compared.
_WHY = {
    "unreadable": "cannot be read",
    "contacts": "other people",
    "tag": "found by another value",
}
#: Why the running views were left as they are.
_KEPT = {
    "equal": "All rows are what the log makes of them; nothing had to be changed.",
    "not-asked": "The running views were left as they are (--dry-run).",
    "damaged-log": "The running views were left as they are: some of the log cannot be read "
    "now, and they know it from before. Find it with cs log verify.",
    "lost-keys": "The running views were left as they are: data keys are lost, and they know "
    "people whom the log does not show any more. See docs/runbook.md.",
}


@on_data
async def views(
    at: Invocation,
    *,
    dry_run: Annotated[
        bool, Parameter(negative="", help="Show what differs, and change nothing.")
    ] = False,
) -> Output:
    """Make the views again from the log, next to those that the service reads.

    Both are compared row by row at one position. Where rows differ from what the log says, the
    new ones take the place of the old ones, all at once; the service answers meanwhile. Ctrl-C
    at any moment leaves everything as it was.

    Example: `cs replay views --dry-run`, and `cs replay views`
    """
    with Progress() as progress:

        def show(far: ReplayProgress) -> None:
            progress.show(
                f"{far.phase} at position {far.position} of {far.running}, {far.rows} rows"
            )

        try:
            found = await replay_views(at.settings(), switch=not dry_run, progress=show)
        except NotReplayable as error:
            stop(str(error))
    masked = [
        msgspec.structs.replace(
            each, running=plain_state(each.running), anew=plain_state(each.anew)
        )
        for each in found.differences
    ]
    found = msgspec.structs.replace(found, differences=masked)
    return Output([found], _text(found))


def _text(found: ReplaySummary) -> Iterator[str | Table]:
    rows = [
        (table, str(count), str(found.different.get(table, 0)))
        for table, count in found.rows.items()
    ]
    yield f"Compared at position {found.position}:"
    yield Table(("Rows of", "Compared", "Different"), rows)
    if found.differences:
        differing = [(each.table, each.row_id, _what(each)) for each in found.differences]
        yield Table(("Rows of", "Row", "What differs"), differing, ["Row", "What differs"])
        more = sum(found.different.values()) - len(found.differences)
        if more:
            yield f"and {more} rows more"
    if found.switched:
        words = "The rows made from the log are the running ones now, as of position"
        yield f"{words} {found.switched_at}."
    elif found.kept is not None:
        yield _KEPT[found.kept]


def _what(each: RowDifference) -> str:
    if each.why:
        return _WHY[each.why]
    if each.running is None or each.anew is None:
        return "missing" if each.running is None else "not in the log"
    return ", ".join(change.field for change in changes(each.running, each.anew))
