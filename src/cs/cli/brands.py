"""``cs brands``: what is reused until when."""

import asyncio
import difflib
import shlex
from collections.abc import Iterable
from typing import Annotated, Any

from cyclopts import App, Parameter

from cs.cli.keys import desk
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop
from cs.cli.settings_in_force import settings
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.domain.names.brand_names import canonical_domain, clean_brand
from cs.projections.brands import BrandRow
from cs.projections.searches import instant

app = App(
    name="brands", help="Import brands; see which are answered from reuse, and forget one."
)
app.command("cs.cli.brand_import:import_brands", name="import")


@app.command(name="list")
def list_brands(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """List every brand searched, how it ended and until when it is reused.

    Example: `cs brands list --json`, one line a brand.
    """

    async def run() -> list[tuple[str, BrandRow]]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.reading.brands()

    rows = [row for _, row in asyncio.run(run())]
    if json:
        for row in rows:
            print_json(_shown(row))
        return
    columns = ("Brand", "Domain", "Ended", "Verified", "Reused until")
    print_table(columns, [_cells(_shown(row)) for row in rows], folds=["Brand", "Domain"])


@app.command
def forget(
    brand: Annotated[str | None, Parameter(help="The brand as it was searched.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The domain it was searched with.")] = None,
    dry_run: Annotated[
        bool, Parameter(negative="", help="Only say what it would hit; change nothing.")
    ] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Make the next search for a brand a live one. Cannot be undone.

    With --dry-run it says what would be forgotten. A brand that nobody searched is an error.

    Example: `cs brands forget Veltrana`, or `cs brands forget --domain veltrana.test` if
    that is how it was searched.
    """
    if brand is None and domain is None:
        stop("name a brand, a --domain, or both, as the search did", 2)
    query = Query(
        clean_brand(brand) if brand is not None else None,
        canonical_domain(domain) if domain is not None else None,
    )

    async def run() -> tuple[dict[str, BrandRow], bool]:
        async with desk(settings(config, data_dir=data_dir)) as at:
            rows = dict(await at.reading.brands())
            doing = not dry_run and brand_stream(query) in rows
            return rows, doing and await at.operator.forget_brand(query)

    rows, changed = asyncio.run(run())
    row = rows.get(brand_stream(query))
    if row is None:
        stop(_nobody_knows(query, rows.values()))
    if json:
        answer = {"brand": query.brand, "domain": query.domain, "forgotten": changed}
        print_json({**answer, "dry_run": True, "found": _shown(row)} if dry_run else answer)
    elif dry_run:
        until = (
            f"{row.verified} verified, reused until {instant(row.reused_until)}"
            if (row.reused_until)
            else "nothing that is reused"
        )
        console.print(f"nothing is changed; it would forget: {row.outcome or '-'}, {until}")
    else:
        console.print("forgotten" if changed else "there was nothing to forget")


def _nobody_knows(query: Query, rows: Iterable[BrandRow]) -> str:
    """Say that nobody searched *query*, and what is called most like it."""
    known = {_words(row.query): row.query for row in rows}
    near = difflib.get_close_matches(_words(query), known, n=1, cutoff=0.5)
    problem = f"nobody searched {_words(query)!r}"
    if not near:
        return f"{problem}; `cs brands list` shows what was searched, and how"
    like = known[near[0]]
    options = [shlex.quote(like.brand)] if like.brand else []
    options += [f"--domain {like.domain}"] if like.domain else []
    return f"{problem}; did you mean: cs brands forget {' '.join(options)}"


def _words(query: Query) -> str:
    return " ".join(filter(None, (query.brand, query.domain))).casefold()


def _shown(row: BrandRow) -> dict[str, Any]:
    return {
        "brand": row.query.brand,
        "domain": row.query.domain,
        "running": row.live is not None,
        "outcome": row.outcome,
        "verified": row.verified,
        "reused_until": instant(row.reused_until) if row.reused_until else None,
    }


def _cells(shown: dict[str, Any]) -> tuple[str, ...]:
    return (
        shown["brand"] or "",
        shown["domain"] or "",
        "running" if shown["running"] else shown["outcome"] or "",
        str(shown["verified"]),
        (shown["reused_until"] or "not reused")[:10],
    )
