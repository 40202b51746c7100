"""``cs sources``, ``cs verifiers``, ``cs people-source``: outside services, one by one."""

from collections.abc import AsyncIterator
from time import perf_counter
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import open_plugins
from cs.assembly.service_checks import (
    NO_FAULT,
    CheckedPlugin,
    check_sources,
    check_verifiers,
    open_budgets,
)
from cs.cli.command import Invocation, Output, number, on_data, on_settings
from cs.cli.output import Table, stop
from cs.domain.contact import BrandFacts, Query
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.domain.roles.role import classify
from cs.paid_calls.service import WORKS
from cs.pipeline.brand_resolution import BrandResolver
from cs.plugins.sources import ANSWERED

sources = App(name="sources", help="Try the sources of brands and people.")
verifiers = App(name="verifiers", help="Try the verifiers of mailboxes.")
people_source = App(name="people-source", help="One people source by itself.")


@sources.command(name="check")
@on_data
def check_every_source(at: Invocation) -> AsyncIterator[Output]:
    """Ask every source once, as cheaply as it can be asked, and say what works.

    A table: whether each works or why not, the price of a call, the amounts spent of today's
    and this month's caps, and what the service says is left. Calls count, also against the
    caps; most cost nothing, one question of a search engine at most. A source without a key
    is shown as not-configured, and one that cannot be asked cheaply as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs sources check --config cs.toml`, or `cs sources check --json`
    """
    return _checked(check_sources(at.settings()))


@verifiers.command(name="check")
@on_data
def check_every_verifier(at: Invocation) -> AsyncIterator[Output]:
    """Ask every verification service once, about an address for trials, and say what works.

    The table and the lines of JSON are those of `cs sources check`. Each check costs one
    call; ZeroBounce's address for trials is free. A service without a key is shown as
    not-configured; smtp asks no service and is shown as not-checked.

    Example: `cs verifiers check --config cs.toml`, or `cs verifiers check --json`
    """
    return _checked(check_verifiers(at.settings()))


async def _checked(checks: AsyncIterator[CheckedPlugin]) -> AsyncIterator[Output]:
    """Yield a row as each check ends, then the table of all."""
    every = []
    async for each in checks:
        named = {"name": each.name, "kind": each.kind}
        yield Output([named | msgspec.to_builtins(each.found)])
        every.append(each)
    columns = ("Name", "State", "Price", "Today", "This month", "Note")
    table = Table(columns, [_cells(each) for each in every], ["Today", "This month", "Note"])
    cost = sum(each.found.usd for each in every)
    works = sum(each.found.ended == WORKS for each in every)
    failed = [each.name for each in every if each.found.ended not in NO_FAULT]
    said = f"{works} of {len(every)} work; this check cost ${cost:.3f} at most"
    problem = f"failed: {', '.join(failed)}" if failed else None
    yield Output(text=[table, said], problem=problem)


def _cells(row: CheckedPlugin) -> list[str]:
    found = row.found
    return [
        row.name,
        found.ended,
        "" if found.usd_per_call is None else f"${found.usd_per_call:g}",
        _of(found.usd_today, found.usd_per_day),
        _of(found.usd_this_month, found.usd_per_month),
        found.why or (f"{found.left} left" if found.left else ""),
    ]


def _of(spent: float | None, cap: float | None) -> str:
    return "" if spent is None or cap is None else f"${spent:.2f} of ${cap:g}"


@people_source.command(name="try")
@on_settings
async def try_source(
    at: Invocation,
    name: Annotated[str, Parameter(help="The source, as settings name it.")],
    brand: Annotated[str, Parameter(allow_leading_hyphen=True, help="The brand.")],
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    limit: Annotated[int, number(1, 1_000, "People at most.")] = 25,
    ask_sources: Annotated[
        bool, Parameter(negative="", help="Find the brand with all brand sources in use.")
    ] = False,
) -> Output:
    """Ask one people source who works for a brand, and show how its run ended.

    It is configured as in the service, with its settings, rate and caps; no other source is
    asked. Facts about the brand come from the bundled directory; a brand that it does not
    know is asked for by its name and --domain alone. Nothing is stored, except that a call
    was made.

    Exit code 1 if the source could not answer: the sentence says why.

    Example: `cs people-source try searxng Nike --limit 5`
    """
    try:
        query = Query(clean_brand(brand), canonical_domain(domain) if domain else None)
    except Unacceptable as error:
        stop(str(error), 2)
    others: dict[str, Any] = {} if ask_sources else {"brand_sources": ("directory",)}
    others |= {"people_source_order": (), "verifier_order": ()}
    chosen = at.settings(people_sources=(name,), verifiers=(), stages=(), **others)
    budgets = await at.opened(open_budgets(chosen))
    directory = await at.opened(open_directory_if_named(chosen))
    tools = await at.opened(open_plugins(chosen, budgets=budgets, directory=directory))
    facts = (await BrandResolver(tools.brand_sources).resolve(query)).facts or BrandFacts(
        name=brand, domain=query.domain, mail_domains=(query.domain,) if query.domain else ()
    )
    began = perf_counter()
    answer = await tools.people_sources[0].find(facts, limit=limit)
    took_s = perf_counter() - began
    people, rows = [], []
    for person in answer.people:
        role = classify(person.headline or "")
        people.append({**msgspec.to_builtins(person), "role": role})
        read = f"{role.family}, {role.level}" if role.eligible else "not looked for"
        url = person.linkedin_url or "-"
        rows.append((person.full_name, person.headline or "-", read, url))
    where = f" ({facts.domain})" if facts.domain else ""
    count = f"{len(people)} {'person' if len(people) == 1 else 'people'}"
    said = f"{name}, asked for {facts.name}{where}: {answer.ended}, {count} in {took_s:.2f} s"
    table = Table(("Name", "Headline", "Read as", "Profile"), rows, ["Headline", "Profile"])
    again = "" if answer.retry_in_s is None else f"; again in {answer.retry_in_s:.0f} s"
    why = f"{name}: {answer.ended}: {answer.why or 'it does not say why'}{again}"
    found = {**msgspec.to_builtins(answer), "people": people}
    return Output(
        [{"brand": facts, "took_s": round(took_s, 3), **found}],
        [said, *([table] if rows else [])],
        problem=None if answer.ended in ANSWERED else why,
    )
