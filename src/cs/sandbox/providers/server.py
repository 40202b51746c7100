"""All providers of a world behind one port: one row each, and what they charged."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cs.sandbox import KEY
from cs.sandbox.providers import BadQuestion
from cs.sandbox.providers.people_files import apollo, hunter_file, people_data_labs
from cs.sandbox.providers.search_engines import brave, serper
from cs.sandbox.providers.verifiers import MailboxTruth, hunter_verifier, single_checks
from cs.sandbox.servers import HttpReply, HttpRequest, json_reply
from cs.sandbox.shapes import Providers, World


class Price(msgspec.Struct, frozen=True):
    """The unit that is charged, in words, and its price in US dollars."""

    unit: str
    usd: float


#: By line of the bill, the unit and the price that the adapters assume.
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


class ProviderServer:
    """The providers of *world*; ``/bill`` is what they charged."""

    def __init__(self, world: World) -> None:
        states = world.providers
        sold = {name: getattr(states, name).credits for name in Providers.__struct_fields__}
        # Companies are charged to the same account as people.
        self._left = {line: sold.get(line, states.pdl.credits) for line in PRICES}
        self._calls = dict.fromkeys(PRICES, 0)
        self._units = dict.fromkeys(PRICES, 0)
        mail = MailboxTruth(world)
        self._providers = {
            each.name: each
            for each in (
                brave(world, states.brave),
                serper(world, states.serper),
                hunter_file(world, states.hunter, hunter_verifier(mail, states)),
                people_data_labs(world, states.pdl),
                apollo(world, states.apollo),
                *single_checks(mail, states),
            )
        }

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        name, _, path = request.path.lstrip("/").partition("/")
        if name == "bill":
            return json_reply(self._bill())
        provider = self._providers.get(name)
        if provider is None:
            return json_reply({"error": f"there is no provider {name!r}"}, 404)
        where, field = provider.key
        given = request.headers if where == "header" else request.query
        if given.get(field) != KEY:
            return provider.refused
        route = provider.routes.get(f"/{path}")
        if route is None:
            return json_reply({"error": f"no such path: /{path}"}, 400)
        try:
            answered = route(request)
        except (BadQuestion, ValueError) as error:
            return json_reply({"error": str(error)}, 400)
        self._calls[answered.line] += 1
        if answered.units > self._left[answered.line]:
            return provider.empty
        self._left[answered.line] -= answered.units
        self._units[answered.line] += answered.units
        return answered.reply

    def _bill(self) -> dict[str, Any]:
        """Return by line what was asked and charged, and all of it in US dollars."""
        usd = {line: round(self._units[line] * PRICES[line].usd, 4) for line in PRICES}
        lines = {
            line: {
                "calls": calls,
                "unit": PRICES[line].unit,
                "units": self._units[line],
                "usd": usd[line],
            }
            for line, calls in self._calls.items()
            if calls
        }
        return {"lines": lines, "usd": round(sum(usd.values()), 4)}
