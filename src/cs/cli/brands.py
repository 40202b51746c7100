"""``cs brands``: the brands that were searched, and until when each is reused."""

import difflib
import shlex
from collections.abc import Iterable
from typing import Annotated, Any

from cyclopts import App, Parameter

from cs.cli.command import Invocation, Output, on_data
from cs.cli.options import DryRun
from cs.cli.output import Table, stop
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.domain.names.brand_names import canonical_domain, clean_brand
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
    rows = [
        (
            each["brand"] or "",
            each["domain"] or "",
            "running" if each["running"] else each["outcome"] or "",
            str(each["verified"]),
            (each["reused_until"] or "not reused")[:10],
        )
        for each in shown
    ]
    columns = ("Brand", "Domain", "Ended", "Verified", "Reused until")
    return Output(shown, [Table(columns, rows, ["Brand", "Domain"])])


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
    if brand is None and domain is None:
        stop("name a brand, a --domain, or both, as the search did", 2)
    query = Query(
        clean_brand(brand) if brand is not None else None,
        canonical_domain(domain) if domain is not None else None,
    )
    data = await at.data()
    rows = dict(await (await data.reading()).brands())
    row = rows.get(brand_stream(query))
    if row is None:
        stop(_never_searched(query, rows.values()))
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


def _never_searched(query: Query, rows: Iterable[BrandRow]) -> str:
    """Return a sentence that names the searched brand closest to *query*."""
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
