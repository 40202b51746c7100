"""The services of `people_services` on a port, for commands and whole services."""

from collections.abc import Iterator
from contextlib import contextmanager

from cs.outside.port import Response
from cs.plugins.contracts.stand_in import ServiceRequest
from plugins.played import on_loopback
from sources.people_services import Respond


class ServiceOnPort:
    """One service and what it was asked; *respond* may be changed while it runs."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[ServiceRequest] = []
        self.url = ""

    def answer(self, asked: ServiceRequest) -> Response:
        self.asked.append(asked)
        return self.respond(asked)


@contextmanager
def on_port(respond: Respond) -> Iterator[ServiceOnPort]:
    """Serve *respond* on a port of its own, from a thread."""
    service = ServiceOnPort(respond)
    with on_loopback(service.answer) as service.url:
        yield service
