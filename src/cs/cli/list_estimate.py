"""``cs search --file LIST --estimate``: the cost of a list, from the cost of past runs."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from cs.assembly.operator_command import CommandContext
from cs.cli.brand_list import BadList, Row, read_rows
from cs.cli.choosing import query_of
from cs.cli.command import Invocation, Output
from cs.cli.output import stop
from cs.domain.brand.brand import brand_stream
from cs.domain.names.brand_names import Unacceptable
from cs.domain.source_cost import MICROS
from cs.eventlog.port import DamagedEvent, NewerEvent
from cs.history.loading import PastRun, past_runs


async def estimate_list(at: Invocation, path: Path) -> Output:
    """Estimate the cost of the list at *path*; nothing is searched, and no call is made."""
    try:
        rows = read_rows(path)
    except BadList as error:
        stop(str(error), 2)
    data = await at.data()
    counts = await _count(rows, data)
    found = _estimate(counts, await past_runs(data.log, data.keys, data.clock.now()))
    counted = (
        f"{found['rows']} brands: {counts['reused']} answered from reuse, {counts['joined']} "
        f"by another search of the same brand, {counts['live']} searched live, "
        f"{counts['refused']} refused"
    )
    cost = "cost: not known, the log has no runs of the last 13 weeks"
    if (usd := found["usd_per_search"]) is not None:
        cost = (
            f"cost: ${found['usd']:.2f}, charges: {found['charges']:.0f}; {found['runs']} runs "
            f"of the last 13 weeks cost ${usd['mean']:.4f} each (${usd['low']:.4f} to "
            f"${usd['high']:.4f})"
        )
    return Output([found], [counted, cost, "nothing was searched"])


async def _count(rows: Sequence[Row], data: CommandContext) -> Counter[str]:
    """Return how many of *rows* are refused, reused, joined and live; charged: reused ones."""
    counts, seen = Counter[str](), set[str]()
    for row in rows:
        try:
            query = query_of(row.brand, row.domain)
        except Unacceptable:
            counts["refused"] += 1
            continue
        assert query is not None, "a row names a brand or a domain"
        stream = brand_stream(query)
        answer, live = None, None
        with suppress(DamagedEvent, NewerEvent):
            known = (await data.streams.brand(stream)).state
            answer, live = known.answer(data.clock.now()), known.live
        if answer is not None:
            counts["reused"] += 1
            counts["charged"] += answer.verified > 0
        else:
            counts["joined" if live is not None or stream in seen else "live"] += 1
        seen.add(stream)
    return counts


def _estimate(counts: Counter[str], past: Sequence[PastRun]) -> dict[str, Any]:
    """Return the estimate for a list of *counts*, by the mean of *past* runs.

    The range is of one run: nine of ten cost at least ``low``, and nine of ten at most
    ``high``.
    """
    kinds = ("refused", "reused", "joined", "live")
    found: dict[str, Any] = {"rows": sum(counts[kind] for kind in kinds)}
    found |= {kind: counts[kind] for kind in kinds} | {"runs": len(past)}
    if not past:
        return found | {"usd": None, "usd_per_search": None, "charges": None}
    usd = [run.micros / MICROS for run in past]
    tenths = quantiles(usd, n=10, method="inclusive") if len(usd) > 1 else usd
    mean, charged = fmean(usd), fmean(run.verified for run in past)
    return found | {
        "usd": round(mean * counts["live"], 4),
        "usd_per_search": {
            "mean": round(mean, 4),
            "low": round(tenths[0], 4),
            "high": round(tenths[-1], 4),
        },
        "charges": round(counts["charged"] + charged * (counts["live"] + counts["joined"]), 1),
    }
