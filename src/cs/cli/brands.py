"""``cs brands``: the brands that were searched, and until when each is reused."""

from typing import Annotated, Any

from cyclopts import App, Parameter

from cs.cli.choosing import query_of
from cs.cli.command import DryRun, Invocation, Output, on_data
from cs.cli.output import Table, stop
from cs.domain.brand.brand import brand_stream
from cs.history.brands import unknown_brand, words_of
from cs.projections.brands import BrandRow
from cs.projections.searches import instant

app = App(
    name="brands", help="Import brands; see which are answered from reuse, and forget one."
)
app.command("cs.cli.imports:import_brands", name="import")


@app.command(name="list")
@on_data
async def list_brands(at: Invocation) -> Output:
    """List every brand searched, how its last lookup ended and until when it is reused.

    Example: `cs brands list --json`, one line a brand.
    """
    reading = await (await at.data()).reading()
    shown = [_shown(row) for _, row in await reading.brands()]
    fields = "brand domain running outcome verified reused_until"
    return Output(shown, [Table.of(shown, fields, "brand domain")])


@app.command
@on_data
async def forget(
    at: Invocation,
    brand: Annotated[str | None, Parameter(help="The brand as it was searched.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The domain it was searched with.")] = None,
    dry_run: DryRun = False,
) -> Output:
    """Make the next search for a brand a live one. Cannot be undone.

    With --dry-run it says what would be forgotten. A brand that was never searched is an
    error.

    Example: `cs brands forget Veltrana`, or `cs brands forget --domain veltrana.test` if
    that is how it was searched.
    """
    query = query_of(brand, domain)
    if query is None:
        stop("name a brand, a --domain, or both, as the search did", 2)
    data = await at.data()
    rows = dict(await (await data.reading()).brands())
    row = rows.get(brand_stream(query))
    if row is None:
        stop(unknown_brand(query, [words_of(each.query) for each in rows.values()]))
    answer = {"brand": query.brand, "domain": query.domain, "forgotten": False}
    if dry_run:
        until = (
            f"{row.verified} verified, reused until {instant(row.reused_until)}"
            if row.reused_until
            else "nothing that is reused"
        )
        return Output(
            [answer | {"dry_run": True, "found": _shown(row)}],
            [f"nothing is changed; it would forget: {row.outcome or '-'}, {until}"],
        )
    answer["forgotten"] = changed = await data.operator.forget_brand(query)
    return Output([answer], ["forgotten" if changed else "there was nothing to forget"])


def _shown(row: BrandRow) -> dict[str, Any]:
    return {
        "brand": row.query.brand,
        "domain": row.query.domain,
        "running": row.live is not None,
        "outcome": row.outcome,
        "verified": row.verified,
        "reused_until": instant(row.reused_until) if row.reused_until else None,
    }
