"""A whole service over HTTP with one thing spoiled on its way in or out."""

import json
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass
class Call:
    """One call: what came, and, once it has been answered, what goes."""

    scope: Scope
    body: bytes
    status: int = 0
    sent: dict[str, str] = field(default_factory=dict)  # headers of the answer, lower case
    answer: bytes = b""

    @property
    def path(self) -> str:
        path: str = self.scope["path"]
        return path

    @property
    def is_search(self) -> bool:
        return self.scope["method"] == "POST" and self.path == "/v1/contacts"

    def header(self, name: str) -> str:
        """Return a header of the request, empty if it was not sent."""
        found = [v for n, v in self.scope["headers"] if n.decode() == name]
        return found[0].decode("latin-1") if found else ""

    def set_header(self, name: str, value: str | None) -> None:
        """Put *value* in place of what was sent; ``None`` takes it away."""
        others = [(n, v) for n, v in self.scope["headers"] if n.decode() != name]
        new = [] if value is None else [(name.encode(), value.encode("latin-1"))]
        self.scope["headers"] = [*others, *new]

    def set_body(self, body: bytes) -> None:
        self.body = body
        if self.header("content-length"):
            self.set_header("content-length", str(len(body)))

    @property
    def record(self) -> dict[str, Any]:
        """Return the JSON object of the answer, empty if it is none."""
        try:
            told = json.loads(self.answer)
        except ValueError:
            return {}
        return told if isinstance(told, dict) else {}

    def tell(self, **fields: Any) -> None:
        """Put *fields* into the JSON object of the answer."""
        self.answer = json.dumps(self.record | fields).encode()

    def refuse(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.answer = json.dumps({"error": {"code": code, "message": message}}).encode()


class Spoil:
    """Spoils nothing; what spoils something overrides one of the two."""

    def before(self, call: Call) -> None:
        """Change what came."""

    def after(self, call: Call) -> None:
        """Change what goes."""

    def again(self, call: Call) -> bytes | None:
        """Return the body of a second call to make with the same headers, if any."""
        del call
        return None


class Breaking:
    """Serves *app*, spoiled by *spoil*."""

    def __init__(self, app: ASGIApp, spoil: Spoil) -> None:
        self._app = app
        self._spoil = spoil

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call = Call(dict(scope), await _read(receive))
        self._spoil.before(call)
        await self._make(call, receive)
        body = self._spoil.again(call)
        if body is not None:
            more = Call(dict(scope), body)
            more.set_body(body)
            await self._make(more, receive)
        self._spoil.after(call)
        call.sent["content-length"] = (
            call.sent["content-length"]
            if (scope["method"] == "HEAD")
            else str(len(call.answer))
        )
        headers = [(n.encode(), v.encode("latin-1")) for n, v in call.sent.items()]
        await send({"type": "http.response.start", "status": call.status, "headers": headers})
        await send({"type": "http.response.body", "body": call.answer})

    async def _make(self, call: Call, receive: Receive) -> None:
        given = False

        async def replayed() -> Message:
            nonlocal given
            if given:
                return await receive()  # that the caller has gone
            given = True
            return {"type": "http.request", "body": call.body, "more_body": False}

        async def kept(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.status = message["status"]
                call.sent = {n.decode(): v.decode("latin-1") for n, v in message["headers"]}
            else:
                call.answer += message.get("body", b"")

        await self._app(call.scope, replayed, kept)


async def _read(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body
