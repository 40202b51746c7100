"""``cs replay views``: the views made anew beside the running ones, and compared with them."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from cs.assembly.view_replay import replay_views
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, styled
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.history.changes import changes
from cs.history.masking import plain_state
from cs.projections.anew import NotReplayable
from cs.projections.comparing import RowDifference
from cs.projections.replay import ReplayProgress, ReplaySummary

#: Of a value that differs, the first so many characters are shown in the table.
_SHOWN = 40
#: Why the running views were left as they are.
_KEPT = {
    "equal": "All rows are what the log makes of them; nothing had to be changed.",
    "not-asked": "The running views were left as they are (--dry-run).",
    "damaged-log": "The running views were left as they are: some of the log cannot be read "
    "now, and they know it from before. Find it with cs log verify.",
    "lost-keys": "The running views were left as they are: data keys are lost, and they know "
    "people whom the log does not show any more. See docs/runbook.md.",
}


def views(
    *,
    dry_run: Annotated[
        bool, Parameter(negative="", help="Show what differs, and change nothing.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Make the views anew from the log, beside those that the service reads.

    Both are compared row by row at one position. Where rows differ from what the log says, the
    new ones take the place of the old ones, all at once; the service answers meanwhile. Ctrl-C
    at any moment leaves everything as it was.

    Example: `cs replay views --dry-run`, and `cs replay views`
    """
    chosen = settings(config, data_dir=data_dir)
    with Progress() as progress:

        def show_progress(far: ReplayProgress) -> None:
            progress.show(_far(far))

        try:
            found = asyncio.run(
                replay_views(chosen, switch=not dry_run, progress=show_progress)
            )
        except NotReplayable as not_now:
            stop(str(not_now))
    masked = [_masked(each) for each in found.differences]
    found = msgspec.structs.replace(found, differences=masked)
    if json:
        print_json(found)
    else:
        _show(found)


def _far(far: ReplayProgress) -> str:
    match far.phase:
        case "making":
            behind = far.running - far.position
            share = 100 * far.position // max(far.running, 1)
            return f"made up to position {far.position} ({share} %), {behind} events behind"
        case "comparing":
            return f"{far.rows} rows compared at position {far.position}"
        case "switching":
            return f"changing places, {far.running - far.position} events behind"


def _masked(difference: RowDifference) -> RowDifference:
    return msgspec.structs.replace(
        difference,
        running=plain_state(difference.running),
        anew=plain_state(difference.anew),
    )


def _show(found: ReplaySummary) -> None:
    rows = [
        (table, f"{count}", f"{found.different.get(table, 0)}")
        for table, count in found.rows.items()
    ]
    console.print(f"Compared at position {found.position}:")
    print_table(("Rows of", "Compared", "Different"), rows, folds=[])
    if found.differences:
        _show_differences(found)
    if found.switched:
        console.print(
            styled(
                "[bold]The rows made anew are the running ones now[/], as of position {}.",
                found.switched_at,
            )
        )
    elif found.kept is not None:
        console.print(_KEPT[found.kept])


def _show_differences(found: ReplaySummary) -> None:
    rows = [
        (each.table, each.row_id, field, running, anew)
        for each in found.differences
        for field, running, anew in _fields(each)
    ]
    print_table(("Rows of", "Row", "Field", "Running", "By the log"), rows, folds=["Row"])
    more = sum(found.different.values()) - len(found.differences)
    if more:
        console.print(f"and {more} rows more")


def _fields(each: RowDifference) -> list[tuple[str, str, str]]:
    match each.why:
        case "unreadable":
            return [("", "cannot be read", "")]
        case "contacts":
            return [("contacts", "other people", "")]
        case "tag":
            return [("", "found by another value", "")]
        case _:
            pass
    if each.running is None or each.anew is None:
        there = {True: "is not there", False: "is there"}
        return [("", there[each.running is None], there[each.anew is None])]
    return [
        (change.field, _short(change.before), _short(change.after))
        for change in changes(_plain(each.running), _plain(each.anew))
    ]


def _plain(row: Any) -> Mapping[str, Any]:
    plain: Mapping[str, Any] = msgspec.to_builtins(row)
    return plain


def _short(value: Any) -> str:
    text = "" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
