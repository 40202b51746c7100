"""The option ``--price``: what a question to a source or verifier costs."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Annotated

from cyclopts import Parameter

from cs.cli.output import stop

Prices = Annotated[
    tuple[str, ...],
    Parameter(
        name="--price",
        negative="",
        show_default=False,
        help="What one question to a source or verifier costs: searxng=0.005. The log "
        "records no prices. Can be given several times.",
    ),
]


def prices_by_name(said: Sequence[str]) -> Mapping[str, Decimal]:
    """Return the prices in the values *said* of the option, by name.

    Raises:
        SystemExit: One of them is written wrongly.
    """
    prices: dict[str, Decimal] = {}
    for each in said:
        name, _, amount = each.partition("=")
        try:
            price = Decimal(amount)
        except InvalidOperation:
            price = Decimal("NaN")
        if not name or not price.is_finite() or not 0 <= price <= 1_000_000:
            stop(f"--price: a name and an amount such as searxng=0.005, not {each!r}", 2)
        prices[name] = price
    return prices
