"""``cs replay``: other rules applied to past runs, and what would differ."""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Group, Parameter

from cs.cli.choosing import chosen_brands, query_of
from cs.cli.command import Invocation, Output, on_data
from cs.cli.moment import At, end_of
from cs.cli.options import number
from cs.cli.output import Table, stop
from cs.cli.pseudonyms import reading
from cs.cli.replay_views import views
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.domain.brand.brand import stream_of
from cs.domain.disclosure import DisclosedEvents
from cs.history.history import History
from cs.history.replay.replaying import ChargeDifference, Difference, Kind, Replay
from cs.history.replay.rules import BrokenRules, Rules, load_rules

app = App(name="replay")
app.command(views)

#: Brands in the table, those with the most differences first; differences that may be printed.
_BRANDS, _EXAMPLES = 10, 1_000_000
#: What is counted, and the column of it.
_COUNTS = {
    "gained": "Gained",
    "lost": "Lost",
    "changed": "Changed",
    "charges_lost": "Not charged",
    "charges_gained": "Charged",
    "charges_open": "Not known",
}
_ANSWERS: dict[Kind, str] = {
    "ranking": "people",
    "verdicts": "verdicts",
}
#: By stream: the brand as it was asked for, and what differs of it.
Counts = dict[str, tuple[str, Counter[str]]]

Found = Difference | ChargeDifference

_WHICH = Group("Which brand", help="All of them unless one is named.", sort_key=2)


@app.default
@on_data
async def replay(
    at: Invocation,
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
    as_of: Annotated[At, Parameter(name="--at")] = None,
    brand: Annotated[
        str | None,
        Parameter(
            group=_WHICH, help="This brand, however it was asked for; with --domain, of both."
        ),
    ] = None,
    domain: Annotated[
        str | None, Parameter(group=_WHICH, help="The brand of this web domain.")
    ] = None,
    examples: Annotated[
        int, number(0, _EXAMPLES, "Print so many differences; --json prints all.")
    ] = 10,
    reveal: Reveal = None,
) -> AsyncIterator[Output]:
    """Apply other rules to past runs, and show what would differ.

    `ranking`: who would be shown, of the people who were found. `verdicts`: whose mailbox
    would be verified, by the conversations with mail servers.

    Writes nothing to the log and asks nobody outside. Works on the data folder or the
    databases, next to a running service or without one. How to try a changed rule before it
    ships: docs/extending.md.

    Example: `cs replay ranking --rules stricter.py`, or `cs replay verdicts --json`
    """
    check_reason(reveal)
    query = query_of(brand, domain)
    try:
        applied = Rules() if rules is None else load_rules(rules)
    except BrokenRules as broken:
        stop(f"--rules: {broken}")
    data = await at.data()
    upto = await end_of(History(data.log), as_of)
    meant = () if query is None else await chosen_brands(History(data.log), query, upto)
    streams = tuple(each.stream for each in meant)
    if reveal is not None:
        categories = () if streams else ("brand",)
        asked = DisclosedEvents(streams=streams, categories=categories, upto=upto)
        await disclose(data, f"replay {kind}", reveal, asked, upto=upto)
    counts: Counts = {}
    shown: dict[type[Found], list[Found]] = {Difference: [], ChargeDifference: []}
    found = Replay(
        data.log, data.keys, kind, applied, brands=streams, upto=upto, reveals=bool(reveal)
    )
    try:
        with reading("applying the rules") as show:
            async for part in found.differences(show):
                for each in part:
                    _count(each, counts)
                    if len(shown[type(each)]) < examples:
                        shown[type(each)].append(each)
                yield Output(part)
    except BrokenRules as broken:
        stop(f"--rules: {broken}")
    total = _total(found, counts, rules=str(rules or "") or None, upto=upto)
    rows = [
        {"kind": "brand", "brand": brand, **_row(count)} for brand, count in counts.values()
    ]
    yield Output(
        [*rows, total], [*_summary(total), *_brands(counts), *_lines(chain(*shown.values()))]
    )


def _total(replay: Replay, counts: Counts, **of: Any) -> dict[str, Any]:
    return {
        "kind": "total",
        "replay": replay.kind,
        **of,
        "lookups": replay.lookups,
        "replayed": replay.replayed,
        "answers": replay.answers.total(),
        **_row(sum((count for _, count in counts.values()), Counter())),
        "by_rules": dict(sorted(replay.answers.items())),
        "not_replayed": dict(sorted(replay.missed.items())),
        "damaged": [str(error) for _, error in sorted(replay.damaged.items())],
    }


def _count(each: Found, counts: Counts) -> None:
    if isinstance(each, ChargeDifference):
        lookup, name = each.search.lookup, f"charges_{each.change}"
    else:
        lookup, name = each.lookup, each.change
    _, count = counts.setdefault(stream_of(lookup), (_brand(each), Counter()))
    count[name] += 1


def _row(count: Counter[str]) -> dict[str, int]:
    return {name: count[name] for name in _COUNTS}


def _summary(total: dict[str, Any]) -> Iterator[str]:
    kind, rules = total["replay"], total["rules"] or "today's rules"
    yield f"{kind} by {rules}, over what was recorded up to position {total['upto']}"
    yield (
        f"{total['replayed']} of {total['lookups']} lookups run again, "
        f"{total['answers']} {_ANSWERS[kind]}"
    )
    yield "  gained {gained}, lost {lost}, changed {changed}".format(**total)
    yield (
        "searches charged otherwise: {charges_lost} not any more, {charges_gained} newly, "
        "{charges_open} not known without asking".format(**total)
    )
    for name, number_ in total["by_rules"].items():
        yield f"answered then by {name}: {number_}"
    for why, number_ in total["not_replayed"].items():
        yield f"not run again, {why}: {number_}"
    for why in total["damaged"]:
        yield f"left out: {why}"


def _brands(counts: Counts) -> Iterator[str | Table]:
    if not counts:
        return
    # Of brands with as many differences the one that was found first.
    most = sorted(counts.values(), key=lambda brand: -brand[1].total())
    yield ""
    yield Table(
        ("Brand", *_COUNTS.values()),
        [(brand, *map(str, _row(count).values())) for brand, count in most[:_BRANDS]],
        ["Brand"],
    )
    if len(most) > _BRANDS:
        yield f"and {len(most) - _BRANDS} more brands; --json has all"
    yield ""


def _lines(examples: Iterable[Found]) -> Iterator[str]:
    for each in examples:
        if isinstance(each, ChargeDifference):
            search = each.search
            yield f"charge {each.change}: {_brand(each)}, {search.search} of {search.key}"
        else:
            who = each.name or each.person
            answers = f"{_words(each.was)} -> {_words(each.would_be)}"
            yield f"{each.change}: {_brand(each)}, {who}: {answers}"


def _brand(each: Found) -> str:
    """Return the brand as it was asked for."""
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
