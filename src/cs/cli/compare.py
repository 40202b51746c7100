"""``cs compare``: who joined, left or changed between live runs."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

import msgspec
from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.cli.choosing import check_lookup, chosen_brands, query_of
from cs.cli.moment import At, end_of
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, stop
from cs.cli.progress import Progress
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.cli.settings_in_force import settings
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents
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
from cs.settings import Settings


class RunComparison(msgspec.Struct, frozen=True):
    """Two runs and what is different in the later one."""

    before: Run
    after: Run
    found: Comparison


def compare(
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
    at: At = None,
    reveal: Reveal = None,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show who joined, who left, and whose title, level or address changed between two runs.

    Of a brand: between each of its runs and the one before, however it was asked for. People
    are named by pseudonyms that are the same in all runs, unless --reveal.

    Example: `cs compare Nike --at 2026-03-01`, and `cs compare LOOKUP LOOKUP --json`
    """
    check_reason(reveal)
    if first is None and domain is None:
        stop("name a brand, a --domain, or two lookups", 2)
    lookups = [said for said in (first, second) if said is not None and lookup_stream(said)]
    if len(lookups) == 1:
        stop("name two lookups, or a brand; `cs events tail` and logs show lookups", 2)
    if second is not None and not lookups:
        stop(f"one brand at a time; {second!r} is no lookup", 2)
    if lookups and domain is not None:
        stop("--domain: lookups say which brand is meant", 2)
    if lookups:
        pairs = _Pairs(lookups=(lookups[0], lookups[1]), at=at)
    else:
        pairs = _Pairs(query=query_of(first, domain), at=at)
    chosen = settings(config, data_dir=data_dir)
    asyncio.run(_show(chosen, pairs, reveal, json=json))


class _Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are compared: two, or all of a brand one after another; as of *at*."""

    lookups: tuple[str, str] | None = None
    query: Query | None = None
    at: str | None

    async def read(self, history: History, upto: int) -> Sequence[tuple[Run, Run]]:
        """Return them, as of position *upto*."""
        if self.lookups is not None:
            first, second = [await self._run(history, lookup, upto) for lookup in self.lookups]
            return [(first, second)]
        streams = await self._streams(history, upto)
        found = [run for stream in streams for run in await history.runs(stream, upto)]
        pairs = list(one_after_another(sorted(found, key=lambda run: run.position)))
        if not pairs:
            stop(f"of {len(found)} lookups fewer than two have an answer: nothing to compare")
        return pairs

    async def asked(self, history: History, upto: int) -> DisclosedEvents:
        """Return whose data are opened."""
        return DisclosedEvents(streams=tuple(sorted(await self._streams(history, upto))))

    async def _streams(self, history: History, upto: int) -> Sequence[str]:
        if self.lookups is not None:
            return sorted({lookup_stream(lookup) or "" for lookup in self.lookups})
        assert self.query is not None
        return [each.stream for each in await chosen_brands(history, self.query, upto)]

    async def _run(self, history: History, lookup: str, upto: int) -> Run:
        found = await history.runs(lookup_stream(lookup) or "", upto)
        run = next((run for run in found if run.lookup == lookup), None)
        if run is None and self.at is None:
            await check_lookup(history, lookup)
        if run is None:
            stop(f"{lookup} had not begun by then")
        if run.finished_at is None:
            ended = "has not ended yet" if self.at is None else "had not ended by then"
            stop(f"{lookup} {ended}")
        return run


async def _show(chosen: Settings, pairs: _Pairs, reveal: str | None, *, json: bool) -> None:
    async with open_command_context(chosen) as data:
        # What is appended from here on the disclosure does not cover, so it is not read.
        upto = await end_of(History(data.log), pairs.at)
        if reveal is not None:
            asked = await pairs.asked(History(data.log), upto)
            await disclose(data, "compare", reveal, asked, upto=upto)
        async for each in _compared(data, pairs, upto):
            changes = each.found.changes if reveal else map(sealed, each.found.changes)
            if json:
                for change in changes:
                    print_json(change)
            else:
                _print(each, list(changes))


async def _compared(
    data: CommandContext, pairs: _Pairs, upto: int
) -> AsyncIterator[RunComparison]:
    found = await pairs.read(History(data.log), upto)
    shown = {each.lookup: each for pair in found for each in pair}
    records = [standing.person for run in shown.values() for standing in standings(run)]
    with Progress() as progress:

        def show(position: int, upto: int) -> None:
            progress.show(f"telling people apart: {position} of {upto} positions read")

        async with identities(data.log, data.keys, show) as people:
            who = await people.of(records)
    for before, after in found:
        yield RunComparison(before, after, compared(before, after, who))


def _print(each: RunComparison, changes: Sequence[PersonChange]) -> None:
    found = each.found
    console.print(f"{_about(each.before)} -> {_about(each.after)}")
    console.print(
        f"  joined {found.count('joined')}, left {found.count('left')}, "
        f"changed {found.count('changed')}, the same {found.same}"
    )
    for change in changes:
        console.print(f"  {_line(change)}")


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
