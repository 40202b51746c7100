"""``cs replay``: rules run again over all of the history, and what would be otherwise."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Group, Parameter
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.assembly.parallel_replay import ReplayJob, replayed
from cs.cli.choosing import chosen_brands, query_of
from cs.cli.moment import At, end_of
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.progress import Progress
from cs.cli.pseudonyms import People
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.cli.settings_in_force import settings
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents
from cs.history.history import History
from cs.history.identities import identities
from cs.history.replay.charges import AffectedLookup, charge_differences
from cs.history.replay.difference import AnswerDifference, ChargeDifference, Totals
from cs.history.replay.recorded import Kind
from cs.history.replay.replaying import brand_streams, chunks
from cs.history.replay.rules import BrokenRules
from cs.settings import Settings

app = App(
    name="replay",
    help="Rules run again over all of the history: what would be otherwise; and the views made "
    "anew. Nothing is written to the log, and nobody outside is asked.\n\n"
    "Works on the data folder or the databases, beside a running service or without one. How "
    "to try a changed rule before it ships: docs/changing-a-rule.md.",
)

#: Imported when it is called; it has nothing to do with the rules.
app.command("cs.cli.replay_views:views", name="views")

#: Processes at most: each opens the data by itself.
PROCESSES = 64
#: Brands in the table, those with the most differences first.
_BRANDS = 10

_WHICH = Group("Which brand", help="All of them unless one is named.", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)  # what cyclopts makes options of
class ReplayOptions:
    """What is run again, where it is, and how much of it is shown."""

    rules: Annotated[
        str | None,
        Parameter(
            help="Instead of today's: a Python file with rank(), read_reply(), conclude() or "
            "resolve(); the folder of another version, such as a git worktree; or the name of "
            "an entry point of cs.rules. It is run with your rights."
        ),
    ] = None
    at: At = None
    brand: Annotated[
        str | None,
        Parameter(
            group=_WHICH, help="This brand, however it was asked for; with --domain, of both."
        ),
    ] = None
    domain: Annotated[
        str | None, Parameter(group=_WHICH, help="The brand of this web domain.")
    ] = None
    processes: Annotated[
        int, Parameter(help="So many at once; what is told is the same for any number.")
    ] = 1
    examples: Annotated[
        int, Parameter(help="Print so many differences; --json prints all.")
    ] = 10
    json: Json = False
    data_dir: DataDir = None
    config: Config = None

    def check(self) -> None:
        """End the command if a number is none that can be."""
        if not 1 <= self.processes <= PROCESSES:
            stop(f"--processes: a whole number from 1 to {PROCESSES}, not {self.processes}", 2)
        if self.examples < 0:
            stop(f"--examples: a whole number from 0 on, not {self.examples}", 2)


DEFAULTS = ReplayOptions()


@app.command
def ranking(
    options: ReplayOptions = DEFAULTS, *, people: People = False, reveal: Reveal = None
) -> None:
    """Rank all people found again: who would be shown, who not any more, who elsewhere.

    Example: `cs replay ranking --rules stricter.py --processes 2`
    """
    _run(_ReplayRun("ranking", options, reveal, people=people))


@app.command
def verdicts(
    options: ReplayOptions = DEFAULTS, *, people: People = False, reveal: Reveal = None
) -> None:
    """Read all conversations with mail servers again: whose mailbox would be verified.

    Example: `cs replay verdicts --rules ../worktree --json > differences.ndjson`
    """
    _run(_ReplayRun("verdicts", options, reveal, people=people))


@app.command
def resolution(options: ReplayOptions = DEFAULTS) -> None:
    """Resolve all brands again: which brand would be meant, of those that sources named.

    Example: `cs replay resolution --brand Delta --at 2026-03-01`
    """
    _run(_ReplayRun("resolution", options, None))


class _Differences:
    """What was found so far; a brand without a difference takes no memory."""

    def __init__(self) -> None:
        self.every = Totals()
        self.brands: dict[str, tuple[Query, Totals]] = {}
        self.affected: dict[str, AffectedLookup] = {}

    def of_brand(self, stream: str, query: Query) -> Totals:
        return self.brands.setdefault(stream, (query, Totals()))[1]


class _ReplayRun:
    """One replay, from the command line to what is shown of it."""

    def __init__(
        self, kind: Kind, options: ReplayOptions, reveal: str | None, *, people: bool = False
    ) -> None:
        options.check()
        check_reason(reveal)
        self.kind = kind
        self.options = options
        self.query = query_of(options.brand, options.domain)
        self._brands: tuple[str, ...] = ()
        self.upto = 0
        self.found = _Differences()
        self._reveal = reveal
        self._people = people

    async def differences(
        self, settings: Settings
    ) -> AsyncGenerator[AnswerDifference | ChargeDifference, None]:
        """Yield what would be otherwise, then which charges would be."""
        async with open_command_context(settings) as data:
            self.upto = await end_of(History(data.log), self.options.at)
            if self.query is not None:
                meant = await chosen_brands(History(data.log), self.query, self.upto)
                self._brands = tuple(each.stream for each in meant)
            await self._disclose(data)
            with Progress() as progress:
                async with aclosing(self._named(data, settings, progress)) as of_brands:
                    async for told in of_brands:
                        yield told
                charges = charge_differences(data.log, self.found.affected, self.upto)
                async for stream, charge in charges:
                    query = self.found.affected[charge.lookup].query
                    self.found.every.count_charge(charge.change)
                    self.found.of_brand(stream, query).count_charge(charge.change)
                    yield charge

    async def _disclose(self, data: CommandContext) -> None:
        if self._reveal is not None:
            categories = () if self._brands else ("brand",)
            asked = DisclosedEvents(streams=self._brands, categories=categories, upto=self.upto)
            command = f"replay {self.kind}"
            await disclose(data, command, self._reveal, asked, upto=self.upto)

    async def _named(
        self, data: CommandContext, settings: Settings, progress: Progress
    ) -> AsyncGenerator[AnswerDifference, None]:
        """Yield the differences in answers, with people's pseudonyms where they are wanted."""

        def show(position: int, upto: int) -> None:
            progress.show(f"telling people apart: {position} of {upto} positions read")

        async with AsyncExitStack() as stack:
            people = None
            if self._people:
                told_apart = identities(data.log, data.keys, show)
                people = await stack.enter_async_context(told_apart)
            of_brands = self._of_brands(data, settings, progress)
            await stack.enter_async_context(aclosing(of_brands))
            async for differences in of_brands:
                if people is None:
                    for each in differences:
                        yield each
                else:
                    who = await people.of({d.person for d in differences if d.person})
                    for each in differences:
                        yield replace(each, who=who.get(each.person or ""))

    async def _of_brands(
        self, data: CommandContext, settings: Settings, progress: Progress
    ) -> AsyncGenerator[Sequence[AnswerDifference], None]:
        """Yield the differences in answers, those of some brands at a time."""
        found, done = self.found, 0
        streams = await brand_streams(data.log, self.kind, self.upto)
        if self.query is not None:
            streams = {name: streams[name] for name in streams if name in self._brands}
        rules = _absolute(self.options.rules)
        job = ReplayJob(self.kind, rules, self._reveal is not None)
        portions = list(chunks(streams))
        results = replayed(data, settings, job, portions, self.options.processes)
        async with aclosing(results):
            async for brands in results:
                for brand in brands:
                    found.every.add(brand.totals)
                    found.affected.update(brand.affected)
                    if brand.differences or brand.affected:
                        found.of_brand(brand.stream, brand.query).add(brand.totals)
                yield [each for brand in brands for each in brand.differences]
                done += len(brands)
                progress.show(
                    f"{done} of {len(streams)} brands, {found.every.answers} answers run "
                    f"again, {found.every.differences} would differ"
                )


def _absolute(rules: str | None) -> str | None:
    """Return *rules* as other processes find them: what is a path, as a whole one."""
    if rules is None or not Path(rules).exists():
        return rules
    return str(Path(rules).resolve())


def _run(run: _ReplayRun) -> None:
    options = run.options
    chosen = settings(options.config, data_dir=options.data_dir)
    try:
        asyncio.run(_print_lines(run, chosen) if options.json else _print_summary(run, chosen))
    except BrokenRules as broken:
        stop(f"--rules: {broken}")


async def _print_lines(run: _ReplayRun, chosen: Settings) -> None:
    """Print every difference as a line of JSON, then every charge, brand and the totals."""
    async with aclosing(run.differences(chosen)) as differences:  # also if nobody reads on
        async for told in differences:
            print_json(told)
    for stream, (query, totals) in run.found.brands.items():
        about = {"brand": query.brand, "domain": query.domain, "stream": stream}
        print_json({"kind": "brand", **about, **_counts(totals)})
    of = {"replay": run.kind, "rules": run.options.rules, "upto": run.upto}
    print_json({"kind": "total", **of, **_counts(run.found.every)})


def _counts(totals: Totals) -> dict[str, Any]:
    counts: dict[str, Any] = msgspec.to_builtins(totals)
    counts.pop("kind")
    for name in ("not_replayed", "by_rules"):
        counts[name] = dict(sorted(counts[name].items()))
    return counts


async def _print_summary(run: _ReplayRun, chosen: Settings) -> None:
    """Print totals, the brands that differ most, and some examples."""
    most = run.options.examples
    examples: list[AnswerDifference] = []
    charges: list[ChargeDifference] = []
    async for told in run.differences(chosen):
        if isinstance(told, AnswerDifference):
            examples += [told] * (len(examples) < most)
        else:
            charges += [told] * (len(charges) < most)
    _print_totals(run)
    _print_brands(run.found)
    if examples or charges:
        console.print()
    for told in examples:
        console.print(_example(told))
    for charge in charges:
        brand = _called(charge.brand, charge.domain)
        console.print(f"charge {charge.change}: {brand}, {charge.search} of {charge.key}")


def _print_totals(run: _ReplayRun) -> None:
    every = run.found.every
    rules = run.options.rules or "today's rules"
    console.print(f"{run.kind} by {rules}, over what was recorded up to position {run.upto}")
    console.print(
        f"{every.replayed} of {every.lookups} lookups run again, "
        f"{every.answers} {_ANSWERS[run.kind]}"
    )
    console.print(f"  gained {every.gained}, lost {every.lost}, changed {every.changed}")
    console.print(
        f"searches charged otherwise: {every.charges_lost} not any more, "
        f"{every.charges_gained} newly, {every.charges_open} not known without asking"
    )
    for name, number in sorted(every.by_rules.items()):
        console.print(f"answered then by {name}: {number}")
    for why, number in sorted(every.not_replayed.items()):
        console.print(f"not run again, {why}: {number}")


def _print_brands(found: _Differences) -> None:
    if not found.brands:
        return
    # Of those with as many differences the one that was looked up first.
    most = sorted(found.brands.values(), key=lambda brand: -brand[1].differences)
    rows = [
        (
            _called(query.brand, query.domain),
            *(str(getattr(totals, column)) for column in _COLUMNS.values()),
        )
        for query, totals in most[:_BRANDS]
    ]
    console.print()
    print_table(("Brand", *_COLUMNS), rows, folds=["Brand"])
    if len(most) > _BRANDS:
        console.print(f"and {len(most) - _BRANDS} more brands; --json has all")


_ANSWERS: dict[Kind, str] = {
    "ranking": "people",
    "verdicts": "verdicts",
    "resolution": "resolutions",
}
_COLUMNS = {
    "Lookups": "lookups",
    "Gained": "gained",
    "Lost": "lost",
    "Changed": "changed",
    "Not charged": "charges_lost",
    "Charged": "charges_gained",
    "Not known": "charges_open",
}


def _example(told: AnswerDifference) -> str:
    who = told.name or told.who or told.person or told.lookup
    brand = _called(told.brand, told.domain)
    return f"{told.change}: {brand}, {who}: {_words(told.was)} -> {_words(told.would_be)}"


def _called(brand: str | None, domain: str | None) -> str:
    return " ".join(word for word in (brand, domain) if word)


def _words(said: Any) -> str:
    """Return what rules *said*, in a line; what is not said is left out."""
    plain = msgspec.to_builtins(said)
    told = {name: value for name, value in plain.items() if value not in (None, False, {})}
    return ", ".join(f"{name} {_value(value)}" for name, value in told.items())


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return "; ".join(f"{name} {_value(inner)}" for name, inner in value.items())
    return str(value)
