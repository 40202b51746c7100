"""What the providers of a world sold: their own account, beside the service's."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Price(msgspec.Struct, frozen=True):
    """What is charged for, in words, and what one costs in US dollars."""

    unit: str
    usd: float


#: By line of the bill: what is sold, at the prices that the adapters take for granted.
PRICES: Mapping[str, Price] = {
    "brave": Price("question", 0.005),
    "serper": Price("credit", 0.001),
    "hunter": Price("search credit", 0.05),
    "hunter_verifier": Price("verification", 0.01),
    "pdl": Price("record", 0.28),
    "pdl_company": Price("company", 0.10),
    "apollo": Price("credit", 0.05),
    "reacher": Price("check of one's own instance", 0.0),
    "zerobounce": Price("verification", 0.008),
    "neverbounce": Price("verification", 0.008),
    "millionverifier": Price("verification", 0.0037),
    "kickbox": Price("verification", 0.01),
}


class Bill:
    """Counts calls and what was charged; *most*: units that each line sells at most."""

    def __init__(self, most: Mapping[str, int]) -> None:
        self._left = dict(most)
        self._calls = dict.fromkeys(PRICES, 0)
        self._units = dict.fromkeys(PRICES, 0)

    def sell(self, line: str, units: int) -> bool:
        """Count a call that costs *units*; ``False`` if the account does not hold them."""
        self._calls[line] += 1
        if units > self._left[line]:
            return False
        self._left[line] -= units
        self._units[line] += units
        return True

    def shown(self) -> dict[str, Any]:
        """Return the bill: by line what was asked and charged, and all of it in US dollars."""
        lines = {
            line: {
                "calls": calls,
                "unit": PRICES[line].unit,
                "units": self._units[line],
                "usd": self._usd(line),
            }
            for line, calls in self._calls.items()
            if calls
        }
        return {"lines": lines, "usd": round(sum(map(self._usd, lines)), 4)}

    def _usd(self, line: str) -> float:
        return round(self._units[line] * PRICES[line].usd, 4)
