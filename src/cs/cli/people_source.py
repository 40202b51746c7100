"""``cs people-source``: one people source by itself, to write or tune it."""

from time import perf_counter
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter

from cs.assembly.people_directory import open_directory_if_named
from cs.assembly.plugins import open_plugins
from cs.assembly.service_budgets import open_budgets
from cs.cli.command import Invocation, Output, on_settings
from cs.cli.options import number
from cs.cli.output import Table, stop
from cs.domain.contact import BrandFacts, Query
from cs.domain.headline.role import classify
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.pipeline.brand_resolver import BrandResolver
from cs.plugins.sources import ANSWERED

app = App(name="people-source", help="One people source by itself.")


@app.command(name="try")
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
    found = {**msgspec.to_builtins(answer), "people": people}
    where = f" ({facts.domain})" if facts.domain else ""
    count = f"{len(people)} {'person' if len(people) == 1 else 'people'}"
    said = f"{name}, asked for {facts.name}{where}: {answer.ended}, {count} in {took_s:.2f} s"
    columns = ("Name", "Headline", "Read as", "Profile")
    again = "" if answer.retry_in_s is None else f"; again in {answer.retry_in_s:.0f} s"
    why = f"{name}: {answer.ended}: {answer.why or 'it does not say why'}{again}"
    return Output(
        [{"brand": facts, "took_s": round(took_s, 3), **found}],
        [said, *([Table(columns, rows, ["Headline", "Profile"])] if rows else [])],
        problem=None if answer.ended in ANSWERED else why,
    )
