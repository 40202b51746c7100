"""Failures behind the admin port are answered as JSON, with what to do next."""

from datetime import timedelta
from typing import NoReturn

import httpx

from admin.test_foreign_pages import ADVANCE, JSON, Moved
from cs.admin.app import build
from cs.admin.health import Readiness


class Failing(Moved):
    """Fails with *error* when it is moved."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def advance(self, by: timedelta) -> NoReturn:  # noqa: ARG002
        raise self.error


async def test_a_failure_has_a_code_and_a_message() -> None:
    for error, status, code in (
        (ValueError("too far"), 400, "invalid_request"),
        (OSError(28, "no space left on device"), 503, "unavailable"),
        (RuntimeError("a bug"), 500, "internal_error"),
    ):
        app = build(Readiness(), Failing(error))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost"
        ) as client:
            answer = await client.post("/sandbox/clock", headers=JSON, content=ADVANCE)

        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert "a bug" not in answer.text
