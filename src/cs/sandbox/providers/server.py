"""All providers of a world behind one port: the first part of a path says which."""

import msgspec

from cs.sandbox.failing import json_reply
from cs.sandbox.provider_shapes import Providers
from cs.sandbox.providers.adapters import KEY
from cs.sandbox.providers.apollo import apollo
from cs.sandbox.providers.bill import PRICES, Bill
from cs.sandbox.providers.hunter_file import HunterFile
from cs.sandbox.providers.mailbox_state import MailboxTruth
from cs.sandbox.providers.people_data_labs import people_data_labs
from cs.sandbox.providers.provider import BadQuestion, Provider, told
from cs.sandbox.providers.search_engines import brave, serper
from cs.sandbox.providers.verifiers import hunter, single_checks
from cs.sandbox.shapes import World
from cs.sandbox.web import HttpReply, HttpRequest

METHODS = ("GET", "POST")


class ProviderServer:
    """The providers of *world*; ``/bill`` is what they charged."""

    def __init__(self, world: World) -> None:
        self._bill = Bill(_credits(world.providers))
        self._providers = {each.name: each for each in _every(world)}

    async def respond(self, request: HttpRequest) -> HttpReply | None:
        name, _, path = request.path.lstrip("/").partition("/")
        if name == "bill":
            return json_reply(self._bill.shown())
        provider = self._providers.get(name)
        if provider is None:
            return told({"error": f"nobody is called {name!r} here"}, 404)
        if provider.key_of(request) != KEY:
            return provider.refused
        try:
            answered = provider.answer(msgspec.structs.replace(request, path=f"/{path}"))
        except (BadQuestion, ValueError) as error:
            return told({"error": str(error)}, 400)
        sold = self._bill.sell(answered.line, answered.units)
        return answered.reply if sold else provider.empty


def _every(world: World) -> list[Provider]:
    states, mail = world.providers, MailboxTruth(world)
    return [
        brave(world, states.brave),
        serper(world, states.serper),
        hunter(HunterFile(world, states.hunter, mail), mail, states),
        people_data_labs(world, states.pdl),
        apollo(world, states.apollo),
        *single_checks(mail, states),
    ]


def _credits(states: Providers) -> dict[str, int]:
    """Return what each line of the bill sells; companies are of the same account as people."""
    own = {name: getattr(states, name).credits for name in Providers.__struct_fields__}
    return {line: own.get(line, states.pdl.credits) for line in PRICES}
