"""``cs search --file LIST --estimate``: what a list will cost, by the data; nobody is asked."""

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cs.assembly.log_world import world_of
from cs.assembly.operator_command import CommandContext, open_command_context
from cs.assembly.price_list import PricedPlugin, price_list
from cs.cli.brand_list.rows import BadList, Row, read_rows
from cs.cli.output import console, print_json, print_table, stop
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.eventlog.errors import DamagedEvent, NewerEvent
from cs.history.estimating import (
    ENOUGH_RUNS,
    ExpectedUse,
    PastRun,
    Spread,
    expected_uses,
    past_runs,
    spread,
)
from cs.paid_calls.budgets.port import MICROS
from cs.settings import Settings

#: Limits of a key (contract text 8): new brands at once, searches a minute and a day.
IN_FLIGHT, PER_MINUTE, PER_DAY = 2, 6, 60


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """A cap that the list would meet: what it is, and after how many live searches."""

    cap: str
    after_searches: int


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a list will cost.

    Attributes:
        rows: Brands of the list.
        refused: Of those, that no search would accept.
        reused: That are answered from an earlier search, without a call.
        joined: That wait for a search of the same brand, of this list or running now.
        live: That are searched anew.
        runs: Live runs of the last 13 weeks in the log that say what they cost.
        by_prices_alone: The log knows too little: money is the most that the settings allow.
        charges: Units of the key's quota; ``None``: the log has no runs.
        usd: ``expected`` is the most where it is by prices alone.
        uses: By source and verifier that charges.
        most_usd_per_search: By the settings alone, of one live search.
        duration_s: Seconds within the limits of one key; ``None``: the log has no runs.
        stops: What would stop it.
    """

    rows: int
    refused: int
    reused: int
    joined: int
    live: int
    runs: int
    by_prices_alone: bool
    charges: Spread | None
    usd: Spread
    uses: Sequence[ExpectedUse]
    most_usd_per_search: float
    duration_s: float | None
    stops: Sequence[Stop]


class RowCounts(msgspec.Struct, kw_only=True):
    """Rows of a list by how they would be answered; ``charged``: reused ones that are."""

    refused: int = 0
    reused: int = 0
    charged: int = 0
    joined: int = 0
    live: int = 0


def estimate_list(path: Path, chosen: Settings, *, json: bool) -> None:
    """Print what the list at *path* will cost; nothing is searched, and nobody is asked."""
    try:
        rows = read_rows(path)
    except BadList as error:
        stop(str(error), 2)
    found = asyncio.run(_estimate(rows, chosen))
    if json:
        print_json(found)
    else:
        _show(found)


async def _estimate(rows: Sequence[Row], chosen: Settings) -> Estimate:
    async with open_command_context(chosen) as data:
        counts = await _count(rows, data)
        past = await past_runs(data.log, data.clock.now())
        world = await world_of(data.log) or "live"
    prices = await price_list(chosen, world)
    return estimate(counts, past, prices, lookups_per_day=chosen.lookups_per_day)


async def _count(rows: Sequence[Row], data: CommandContext) -> RowCounts:
    counts, seen = RowCounts(), set[str]()
    for row in rows:
        try:
            query = Query(
                clean_brand(row.brand) if row.brand else None,
                canonical_domain(row.domain) if row.domain else None,
            )
        except Unacceptable:
            counts.refused += 1
            continue
        stream = brand_stream(query)
        try:
            known = (await data.streams.brand(stream)).state
        except (DamagedEvent, NewerEvent):
            known = None
        answer = None if known is None else known.answer(data.clock.now())
        if answer is not None:
            counts.reused += 1
            counts.charged += answer.verified > 0
        elif stream in seen or (known is not None and known.live is not None):
            counts.joined += 1
        else:
            counts.live += 1
        seen.add(stream)
    return counts


def estimate(
    counts: RowCounts,
    past: Sequence[PastRun],
    prices: Sequence[PricedPlugin],
    *,
    lookups_per_day: int | None = None,
) -> Estimate:
    """Return what a list of *counts* costs, by *past* runs or else by *prices*."""
    told = [run for run in past if run.recorded]
    alone = len(told) < ENOUGH_RUNS
    uses = [] if alone else expected_uses(told, counts.live, MICROS)
    most = sum(each.usd * each.questions for each in _dearest(prices))
    if alone:
        usd = Spread(
            expected=round(most * counts.live, 4), p10=0.0, p90=round(most * counts.live, 4)
        )
    else:
        spent = [sum(f.micros for f in run.figures) / MICROS for run in told]
        usd = spread(spent, counts.live)
    charges = None
    if past:
        found = spread([float(run.verified) for run in past], counts.live + counts.joined)
        charges = Spread(
            expected=found.expected + counts.charged,
            p10=found.p10 + counts.charged,
            p90=min(found.p90, counts.live + counts.joined) + counts.charged,
        )
    return Estimate(
        rows=counts.refused + counts.reused + counts.joined + counts.live,
        refused=counts.refused,
        reused=counts.reused,
        joined=counts.joined,
        live=counts.live,
        runs=len(told),
        by_prices_alone=alone,
        charges=charges,
        usd=usd,
        uses=uses,
        most_usd_per_search=round(most, 4),
        duration_s=_duration_s(counts, past),
        stops=_stops(counts.live, uses, prices, lookups_per_day),
    )


def _dearest(prices: Sequence[PricedPlugin]) -> list[PricedPlugin]:
    """Return every source, and the dearest verifier: they share the questions of a search."""
    verifiers = [each for each in prices if each.stage == "verification"]
    others = [each for each in prices if each.stage != "verification"]
    return [*others, *sorted(verifiers, key=lambda each: -each.usd)[:1]]


def _duration_s(counts: RowCounts, past: Sequence[PastRun]) -> float | None:
    """Return how long one key needs: for live searches, two at a time, and by its limits."""
    took = [run.took_s for run in past if run.took_s is not None]
    if not took and counts.live:
        return None
    searches = counts.reused + counts.joined + counts.live
    days = max(math.ceil(searches / PER_DAY) - 1, 0)
    of_runs = counts.live * (sum(took) / len(took)) / IN_FLIGHT if took else 0.0
    return round(max(of_runs, max(searches - 1, 0) * 60 / PER_MINUTE, days * 86_400), 1)


def _stops(
    live: int,
    uses: Sequence[ExpectedUse],
    prices: Sequence[PricedPlugin],
    lookups_per_day: int | None,
) -> list[Stop]:
    """Return the caps that *live* searches would meet, by what each is expected to cost.

    By its price and as many questions as may be, where the log does not know it.
    """
    found = []
    for name in sorted({each.name for each in prices}):
        of_name = [each for each in prices if each.name == name]
        # One account may serve a source and a verifier.
        total = sum(use.usd.expected for use in uses if use.name == name)
        if not uses:
            total = sum(each.usd * each.questions for each in of_name) * live
        for cap, left in _left(of_name[0]):
            if total > left:
                at = int(left / total * live)
                found.append(Stop(cap=f"usd_per_{cap} of {name}", after_searches=at))
    if lookups_per_day is not None and live > lookups_per_day:
        found.append(Stop(cap="lookups_per_day", after_searches=lookups_per_day))
    return sorted(found, key=lambda each: each.after_searches)


def _left(priced: PricedPlugin) -> list[tuple[str, float]]:
    """Return each cap, and what is left of it in US dollars."""
    caps = (
        ("day", priced.usd_per_day, priced.usd_today),
        ("month", priced.usd_per_month, priced.usd_this_month),
    )
    return [
        (cap, max(most - (spent or 0.0), 0.0)) for cap, most, spent in caps if most is not None
    ]


def _show(found: Estimate) -> None:
    console.print(
        f"{found.rows} brands: {found.reused} answered from reuse, {found.joined} by another "
        f"search of the same brand, {found.live} searched live, {found.refused} refused"
    )
    if found.by_prices_alone:
        console.print(
            f"the log has {found.runs} runs that say what they cost, and {ENOUGH_RUNS} are "
            "needed: by the prices of the settings alone, "
            f"at most ${found.usd.p90:.2f} (${found.most_usd_per_search:.4f} a live search)"
        )
    else:
        console.print(
            f"money: ${_range(found.usd, 2)}, by {found.runs} runs of the last 13 weeks"
        )
        uses = [(u.stage, u.name, _range(u.calls, 0), _range(u.usd, 2)) for u in found.uses]
        if uses:
            print_table(("Stage", "Asked", "Paid calls", "$"), uses, folds=["Stage", "Asked"])
    if found.charges is None:
        console.print("charges: not known, the log has no runs; at most one a brand")
    else:
        console.print(f"charges: {_range(found.charges, 0)}")
    if found.duration_s is None:
        console.print("duration: not known, the log has no runs")
    else:
        console.print(f"duration: about {_lasting(found.duration_s)} with one key")
    for each in found.stops:
        console.print(f"stopped by {each.cap} after {each.after_searches} live searches")
    console.print("nothing was searched, and nobody was asked")


def _range(found: Spread, digits: int) -> str:
    return f"{found.expected:.{digits}f} ({found.p10:.{digits}f} to {found.p90:.{digits}f})"


def _lasting(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"
