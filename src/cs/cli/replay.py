"""``cs replay``: other rules applied to past runs; the views rebuilt from the log."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.view_replay import replay_views
from cs.cli.choosing import At, Brand, Domain, Reveal, chosen_brands, end_of, query_of
from cs.cli.command import Invocation, Output, number, on_data
from cs.cli.output import Progress, Table, facts, reading, stop
from cs.domain.brand.brand import stream_of
from cs.domain.disclosure import DisclosedEvents
from cs.history.replay.replaying import ChargeDifference, Difference, Kind, Replay
from cs.history.replay.rules import BrokenRules, Rules, load_rules
from cs.history.states import changes, plain_state
from cs.projections.rebuild import NotReplayable, ReplayProgress, ReplaySummary, RowDifference

app = App(name="replay")

#: Brands in the table, those with the most differences first; differences that may be printed.
_BRANDS, _EXAMPLES = 10, 1_000_000
#: Counts for each brand.
_COUNTED = ("gained", "lost", "changed", "charges_lost", "charges_gained", "charges_open")
#: Differences of rows whose values are not compared, in words.
_WHY = {
    "unreadable": "cannot be read",
    "contacts": "other people",
    "tag": "found by another value",
}
#: Reasons for leaving the running views as they are.
_KEPT = {
    "equal": "All rows are what the log makes of them; nothing had to be changed.",
    "not-asked": "The running views were left as they are (--dry-run).",
    "damaged-log": "The running views were left as they are: some of the log cannot be read "
    "now, and the views were made when it could. Find it with cs log verify.",
    "lost-keys": "The running views were left as they are: data keys are lost, and they know "
    "people that the log does not show any more. See docs/runbook.md.",
}


@app.default
@on_data
async def replay(
    call: Invocation,
    kind: Kind,
    /,
    *,
    rules: Annotated[
        Path | None,
        Parameter(
            help="Instead of today's: a Python file with rank(), read_reply() or conclude(). "
            "It is run with your rights."
        ),
    ] = None,
    at: At = None,
    brand: Brand = None,
    domain: Domain = None,
    examples: Annotated[
        int, number(0, _EXAMPLES, "Print so many differences; --json prints all.")
    ] = 10,
    reveal: Reveal = None,
) -> AsyncIterator[Output]:
    """Apply other rules to past runs, and show what would differ.

    `ranking`: who would be shown, of the people who were found. `verdicts`: whose mailbox
    would be verified, by the conversations with mail servers.

    Writes nothing to the log and asks no outside service. Works on the data folder or the
    databases, next to a running service or without one. How to try a changed rule before it
    ships: docs/extending.md.

    Example: `cs replay ranking --rules stricter.py`, or `cs replay verdicts --json`
    """
    query = query_of(brand, domain)
    try:
        applied = Rules() if rules is None else load_rules(rules)
    except BrokenRules as broken:
        stop(f"--rules: {broken}")
    data = await call.data()
    history = data.history
    upto = await end_of(history, at)
    meant = () if query is None else await chosen_brands(history, query, upto)
    streams = tuple(each.stream for each in meant)
    if reveal is not None:
        categories = () if streams else ("brand",)
        asked = DisclosedEvents(streams=streams, categories=categories, upto=upto)
        await data.operator.disclose(f"replay {kind}", reveal, asked, upto=upto)
    counts: dict[str, tuple[str, Counter[str]]] = {}  # by stream, with the brand's name
    shown: list[Difference | ChargeDifference] = []
    found = Replay(
        data.log, data.keys, kind, applied, brands=streams, upto=upto, reveals=bool(reveal)
    )
    try:
        with reading("applying the rules") as show:
            async for part in found.differences(show):
                for each in part:
                    lookup = each.lookup if isinstance(each, Difference) else each.search.lookup
                    prefix = "" if isinstance(each, Difference) else "charges_"
                    _, count = counts.setdefault(stream_of(lookup), (_brand(each), Counter()))
                    count[prefix + each.change] += 1
                shown += part[: examples - len(shown)]
                yield Output(part)
    except BrokenRules as broken:
        stop(f"--rules: {broken}")
    every = sum((count for _, count in counts.values()), Counter[str]())
    total: dict[str, Any] = {
        "replay": kind,
        "rules": str(rules) if rules else None,
        "upto": upto,
        "lookups": found.lookups,
        "replayed": found.replayed,
        "answers": found.answers.total(),
        **{name: every[name] for name in _COUNTED},
        "by_rules": dict(sorted(found.answers.items())),
        "not_replayed": dict(sorted(found.missed.items())),
        "damaged": [str(error) for _, error in sorted(found.damaged.items())],
    }
    rows = [
        {"kind": "brand", "brand": brand, **{name: count[name] for name in _COUNTED}}
        for brand, count in counts.values()
    ]
    lines = map(_line, shown)
    yield Output([*rows, {"kind": "total", **total}], [*facts(total), *_most(rows), *lines])


def _most(rows: list[dict[str, Any]]) -> Iterator[str | Table]:
    """Yield the brands with the most differences; of equal ones, the first found."""
    if not rows:
        return
    most = sorted(rows, key=lambda row: -sum(row[name] for name in _COUNTED))
    yield ""
    yield Table.of(most[:_BRANDS], " ".join(("brand", *_COUNTED)), "brand")
    if len(most) > _BRANDS:
        yield f"and {len(most) - _BRANDS} more brands; --json has all"
    yield ""


def _line(each: Difference | ChargeDifference) -> str:
    if isinstance(each, ChargeDifference):
        search = each.search
        return f"charge {each.change}: {_brand(each)}, {search.search} of {search.key}"
    answers = f"{_words(each.was)} -> {_words(each.would_be)}"
    return f"{each.change}: {_brand(each)}, {each.name or each.person}: {answers}"


def _brand(each: Difference | ChargeDifference) -> str:
    asked = (
        (each.brand, each.domain)
        if isinstance(each, Difference)
        else (each.search.asked_brand, each.search.asked_domain)
    )
    return " ".join(filter(None, asked))


def _words(answer: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {' '.join(value) if isinstance(value, list | tuple) else value}"
        for name, value in answer.items()
        if value is not None
    )


@app.command
@on_data
async def views(
    at: Invocation,
    *,
    dry_run: Annotated[bool, Parameter(help="Show what differs, and change nothing.")] = False,
) -> Output:
    """Make the views again from the log, next to those that the service reads.

    Both are compared row by row at one position. Where rows differ from what the log says, the
    new ones take the place of the old ones, all at once; the service answers meanwhile. Ctrl-C
    at any moment leaves everything as it was.

    Example: `cs replay views --dry-run`, and `cs replay views`
    """

    def show(far: ReplayProgress) -> None:
        line.show(f"{far.phase} at position {far.position} of {far.running}, {far.rows} rows")

    try:
        with Progress() as line:
            found = await replay_views(at.settings(), switch=not dry_run, progress=show)
    except NotReplayable as error:
        stop(str(error))
    masked = [
        msgspec.structs.replace(
            each, running=plain_state(each.running), rebuilt=plain_state(each.rebuilt)
        )
        for each in found.differences
    ]
    found = msgspec.structs.replace(found, differences=masked)
    return Output([found], _views_text(found))


def _views_text(found: ReplaySummary) -> Iterator[str | Table]:
    rows = [
        (table, str(count), str(found.different.get(table, 0)))
        for table, count in found.rows.items()
    ]
    yield f"Compared at position {found.position}:"
    yield Table(("Rows of", "Compared", "Different"), rows)
    if found.differences:
        differing = [(each.table, each.row_id, _difference(each)) for each in found.differences]
        yield Table(("Rows of", "Row", "What differs"), differing, ["Row", "What differs"])
        more = sum(found.different.values()) - len(found.differences)
        if more:
            yield f"and {more} rows more"
    if found.switched:
        words = "The rows made from the log are the running ones now, as of position"
        yield f"{words} {found.switched_at}."
    elif found.kept is not None:
        yield _KEPT[found.kept]


def _difference(each: RowDifference) -> str:
    if each.why:
        return _WHY[each.why]
    if each.running is None or each.rebuilt is None:
        return "missing" if each.running is None else "not in the log"
    return ", ".join(change.field for change in changes(each.running, each.rebuilt))
