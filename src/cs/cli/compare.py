"""``cs compare``: who joined, left or changed between live runs."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import check_lookup, chosen_brands, query_of
from cs.cli.command import Invocation, Output, on_data
from cs.cli.moment import At, end_of
from cs.cli.output import stop, styled
from cs.cli.pseudonyms import reading
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents
from cs.history.brands import brands, of_one_brand
from cs.history.comparing import (
    Comparison,
    PersonChange,
    Standing,
    compared,
    lookup_stream,
    one_after_another,
    sealed,
    standings,
)
from cs.history.history import History
from cs.history.identities import identities
from cs.history.runs import Run
from cs.projections.searches import instant


@on_data
async def compare(
    call: Invocation,
    first: Annotated[
        str | None,
        Parameter(help="A brand by its name, or a lookup's id.", show_default=False),
    ] = None,
    second: Annotated[
        str | None,
        Parameter(help="A later lookup's id, where the first is one.", show_default=False),
    ] = None,
    /,
    *,
    domain: Annotated[
        str | None, Parameter(help="The brand of this web domain; with a brand, of both.")
    ] = None,
    all_brands: Annotated[
        bool, Parameter(negative="", help="Every brand that was looked up.")
    ] = False,
    at: At = None,
    reveal: Reveal = None,
) -> AsyncIterator[Output]:
    """Show who joined, who left, and whose title, level or address changed between two runs.

    Of a brand: between each of its runs and the one before, however it was asked for. People
    are named by pseudonyms that are the same in all runs, unless --reveal.

    Example: `cs compare Nike --at 2026-03-01`, and `cs compare LOOKUP LOOKUP --json`
    """
    check_reason(reveal)
    lookups = _lookups(first, second, domain, all_brands=all_brands)
    data = await call.data()
    history = History(data.log)
    # What is appended from here on the disclosure does not cover, so it is not read.
    upto = await end_of(history, at)
    groups: Sequence[Sequence[str]]
    if lookups:
        groups = [sorted({lookup_stream(lookup) or "" for lookup in lookups})]
    elif all_brands:
        groups = of_one_brand(await brands(history, upto))
    else:
        query = query_of(first, domain) or Query()
        groups = [[each.stream for each in await chosen_brands(history, query, upto)]]
    if reveal is not None:
        streams = () if all_brands else tuple(sorted(groups[0]))
        of_all = ("brand",) if all_brands else ()
        asked = DisclosedEvents(streams=streams, categories=of_all)
        await disclose(data, "compare", reveal, asked, upto=upto)
    any_pair = False
    for group in groups:
        if lookups:
            ended = [await _ended(history, each, upto, now=at is None) for each in lookups]
            pairs: Sequence[tuple[Run, Run]] = [(ended[0], ended[1])]
        else:
            pairs = await _pairs(history, group, upto)
        any_pair = any_pair or bool(pairs)
        if all_brands and pairs:
            query = pairs[-1][1].query
            yield Output(text=[styled("[bold]{}[/]", query.brand or query.domain)])
        async for before, after, found in _compared(data, pairs):
            changes = found.changes if reveal else [*map(sealed, found.changes)]
            yield Output(rows=changes, text=_text(before, after, found, changes))
    if not any_pair:
        stop("fewer than two lookups have an answer: nothing to compare")


def _lookups(
    first: str | None, second: str | None, domain: str | None, *, all_brands: bool
) -> Sequence[str]:
    """Return the two lookups that are named; none: a brand is, or all are.

    Raises:
        SystemExit: What is named cannot be compared.
    """
    named = [said for said in (first, second) if said is not None]
    if all_brands and (named or domain is not None):
        stop("--all-brands: no brand, domain or lookup beside it", 2)
    if not named and domain is None and not all_brands:
        stop("name a brand, a --domain, two lookups, or --all-brands", 2)
    lookups = [said for said in named if lookup_stream(said)]
    if len(lookups) == 1:
        stop("name two lookups, or a brand; `cs searches list --json` shows lookups", 2)
    if second is not None and not lookups:
        stop(f"one brand at a time; {second!r} is no lookup", 2)
    if lookups and domain is not None:
        stop("--domain: lookups say which brand is meant", 2)
    return lookups


async def _pairs(
    history: History, streams: Sequence[str], upto: int
) -> Sequence[tuple[Run, Run]]:
    """Return each run of the brand of *streams* that has an answer, with the one before."""
    found = [run for stream in streams for run in await history.runs(stream, upto)]
    return list(one_after_another(sorted(found, key=lambda run: run.position)))


async def _ended(history: History, lookup: str, upto: int, *, now: bool) -> Run:
    run = await history.run(lookup, upto)
    if run is None and now:
        await check_lookup(history, lookup)
    if run is None:
        stop(f"{lookup} had not begun by then")
    if run.finished_at is None:
        stop(f"{lookup} {'has not ended yet' if now else 'had not ended by then'}")
    return run


async def _compared(
    data: CommandContext, pairs: Sequence[tuple[Run, Run]]
) -> AsyncIterator[tuple[Run, Run, Comparison]]:
    shown = {run.lookup: run for pair in pairs for run in pair}
    records = [standing.person for run in shown.values() for standing in standings(run)]
    with reading("telling people apart") as progress:
        async with identities(data.log, data.keys, progress) as people:
            who = await people.of(records)
    for before, after in pairs:
        yield before, after, compared(before, after, who)


def _text(
    before: Run, after: Run, found: Comparison, changes: Sequence[PersonChange]
) -> Iterator[str]:
    yield f"{_about(before)} -> {_about(after)}"
    yield (
        f"  joined {found.count('joined')}, left {found.count('left')}, "
        f"changed {found.count('changed')}, the same {found.same}"
    )
    for change in changes:
        yield f"  {_line(change)}"


def _about(run: Run) -> str:
    ended = "" if run.finished_at is None else f", {instant(run.finished_at)}"
    return f"{run.lookup} ({run.outcome}{ended})"


def _line(change: PersonChange) -> str:
    standing = change.now or change.was
    assert standing is not None
    who = standing.name or change.who or standing.person
    if change.was is None or change.now is None:
        return f"{change.change} {who}: {_role(standing)}"
    fields = "; ".join(_field(name, change.was, change.now) for name in change.changed)
    return f"{change.change} {who}: {fields}"


def _role(standing: Standing) -> str:
    words = [standing.title, standing.family, standing.level, standing.address]
    said = [word for word in words if word]
    if standing.address is None:
        said.append("verified" if standing.verified else "no verified address")
    return ", ".join(said)


def _field(name: str, was: Standing, now: Standing) -> str:
    """Return what of *name* changed: in words where they may be shown."""
    before, after = getattr(was, name), getattr(now, name)
    if name == "address" and (before is None or after is None) and was.verified != now.verified:
        return "address verified" if now.verified else "address not verified any more"
    if before == after:  # sealed
        return f"another {name}"
    return f"{name} {before or 'none'} -> {after or 'none'}"
