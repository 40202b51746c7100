"""``cs people-source``: one people source by itself, for who writes or tunes it."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import open_plugins
from cs.assembly.service_budgets import open_budgets
from cs.cli.options import Config, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.settings_in_force import settings
from cs.domain.contact import BrandFacts, Query, Sighting
from cs.domain.headline.role import JobRole, classify
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.pipeline.brand_resolver import BrandResolver
from cs.plugins.sources import ANSWERED, PeopleAnswer

app = App(name="people-source", help="People sources, one by itself.")

#: People that are asked for, unless another number is.
LIMIT = 25
LIMIT_MAX = 1_000


@app.command(name="try")
def try_source(
    name: Annotated[str, Parameter(help="The source, as settings name it.")],
    brand: Annotated[str, Parameter(allow_leading_hyphen=True, help="Whose people.")],
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    limit: Annotated[int, Parameter(help="People at most.")] = LIMIT,
    ask_sources: Annotated[
        bool, Parameter(negative="", help="Find the brand with all brand sources in use.")
    ] = False,
    json: Json = False,
    config: Config = None,
) -> None:
    """Ask one people source who works for a brand, and show how its run ended.

    It is made as the service makes it, with its settings, rate and caps; nobody else is asked.
    What is known of the brand comes from the bundled directory; a brand that it does not know
    is asked for by its name and --domain alone. Nothing is stored, but that a call was made.

    Exit code 1 if the source could not answer: the sentence says why.

    Example: `cs people-source try searxng Nike --limit 5`
    """
    if not 1 <= limit <= LIMIT_MAX:
        stop(f"--limit: a whole number from 1 to {LIMIT_MAX}, not {limit}", 2)
    query = _query(brand, domain)

    async def run() -> tuple[BrandFacts, PeopleAnswer, float]:
        async with AsyncExitStack() as stack:
            asked, source = await _opened(stack, name, config, ask_sources=ask_sources)
            facts = (await asked.resolve(query)).facts or BrandFacts(
                name=brand,
                domain=query.domain,
                mail_domains=(query.domain,) if query.domain else (),
            )
            began = perf_counter()
            answer = await source.find(facts, limit=limit)
            return facts, answer, perf_counter() - began

    facts, answer, took_s = asyncio.run(run())
    if json:
        print_json({"brand": facts, "took_s": round(took_s, 3), **_row(answer)})
    else:
        where = f" ({facts.domain})" if facts.domain else ""
        count = len(answer.people)
        console.print(
            f"{name}, asked for {facts.name}{where}: {answer.ended}, "
            f"{count} {'person' if count == 1 else 'people'} in {took_s:.2f} s"
        )
        _print_people(answer)
    if answer.ended not in ANSWERED:
        stop(f"{name}: {answer.ended}: {answer.why or 'it does not say why'}{_when(answer)}")


def _query(brand: str, domain: str | None) -> Query:
    try:
        return Query(clean_brand(brand), canonical_domain(domain) if domain else None)
    except Unacceptable as error:
        stop(str(error), 2)


async def _opened(
    stack: AsyncExitStack, name: str, config: Path | None, *, ask_sources: bool
) -> tuple[BrandResolver, Any]:
    """Return what finds the brand, and the source *name*; they are open as long as *stack*.

    Raises:
        BadSettings: It is not installed, or cannot be used.
    """
    others: dict[str, Any] = {} if ask_sources else {"brand_sources": ("directory",)}
    others |= {"people_source_order": (), "verifier_order": ()}
    chosen = settings(config, people_sources=(name,), verifiers=(), stages=(), **others)
    budgets = await stack.enter_async_context(open_budgets(chosen))
    directory = await stack.enter_async_context(open_directory_if_named(chosen))
    tools = await stack.enter_async_context(
        open_plugins(chosen, budgets=budgets, directory=directory)
    )
    return BrandResolver(tools.brand_sources), tools.people_sources[0]


def _row(answer: PeopleAnswer) -> dict[str, Any]:
    people = [
        {**msgspec.to_builtins(person), "role": msgspec.to_builtins(_role(person))}
        for person in answer.people
    ]
    return {**msgspec.to_builtins(answer), "people": people}


def _role(person: Sighting) -> JobRole:
    return classify(person.headline or "")


def _print_people(answer: PeopleAnswer) -> None:
    if not answer.people:
        return
    rows = []
    for person in answer.people:
        role = _role(person)
        read = f"{role.family}, {role.level}" if role.eligible else "not looked for"
        rows.append(
            [person.full_name, person.headline or "-", read, person.linkedin_url or "-"]
        )
    print_table(["Name", "Headline", "Read as", "Profile"], rows, folds=["Headline", "Profile"])


def _when(answer: PeopleAnswer) -> str:
    return "" if answer.retry_in_s is None else f"; again in {answer.retry_in_s:.0f} s"
