"""Services that answer as a test says: in its own process, or on a port for others."""

from collections.abc import Iterator
from contextlib import contextmanager

from cs.outside.port import Response, Unreachable
from cs.plugins.contracts.stand_in import Answer, ServiceRequest
from plugins.played import on_loopback
from sources.people_services import Respond


def saying(body: bytes, *, status: int = 200, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: Response(status=status, headers=named, body=body, url=asked.path)


def away(asked: ServiceRequest) -> object:
    raise Unreachable("connect", asked.path)


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
