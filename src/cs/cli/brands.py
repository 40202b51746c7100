"""``cs brands``: what is reused until when."""

import asyncio
from typing import Annotated, Any

from cyclopts import App, Parameter

from cs.cli.keys import desk
from cs.cli.options import Config, DataDir, Json, settings
from cs.cli.output import console, print_json, print_table, stop
from cs.domain.contact import Query
from cs.domain.naming import canonical_domain, clean_brand
from cs.projections.brands import BrandRow
from cs.projections.searches import instant

app = App(name="brands", help="See which brands are answered from reuse, and forget one.")


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
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Make the next search for a brand a live one.

    Example: `cs brands forget Veltrana`, or `cs brands forget --domain veltrana.test` if
    that is how it was searched.
    """
    if brand is None and domain is None:
        stop("name a brand, a --domain, or both, as the search did", 2)
    query = Query(
        clean_brand(brand) if brand is not None else None,
        canonical_domain(domain) if domain is not None else None,
    )

    async def run() -> bool:
        async with desk(settings(config, data_dir=data_dir)) as at:
            return await at.operator.forget_brand(query)

    changed = asyncio.run(run())
    if json:
        print_json({"brand": query.brand, "domain": query.domain, "forgotten": changed})
    else:
        console.print("forgotten" if changed else "there was nothing to forget")


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
