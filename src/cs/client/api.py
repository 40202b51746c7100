"""A small client of any server of this API."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx

#: A call with ``wait`` is held up to 85 s (SPEC.md 4.1).
TIMEOUT_S = 100.0


class CallFailed(Exception):
    """The server answered with an error, or not at all.

    Attributes:
        status: HTTP status; 0 if there was no answer.
        code: One of the nine codes of the API; "unreachable" if there was no answer.
        retry_after_s: What the server asks to wait, if it said so.
    """

    def __init__(
        self, status: int, code: str, message: str, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class Client:
    """Use as ``with``.  *base_url* includes the version: ``http://127.0.0.1:8080/v1``."""

    def __init__(self, base_url: str, key: str) -> None:
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def start(self, brand: str | None = None, domain: str | None = None) -> dict[str, Any]:
        """Return the search as it is at once: finished from reuse, or running."""
        body = {"brand": brand, "domain": domain}
        return self._call(
            "POST", "/contacts", {name: value for name, value in body.items() if value}
        )

    def get(self, search: str) -> dict[str, Any]:
        return self._call("GET", f"/searches/{search}")

    def usage(self) -> dict[str, Any]:
        return self._call("GET", "/usage")

    def wait(
        self, record: dict[str, Any], running: Callable[[float], None], poll_s: float = 1.0
    ) -> dict[str, Any]:
        """Poll until *record*'s search has ended; *running* hears the seconds gone by."""
        began = time.monotonic()
        while record["status"] == "running":
            running(time.monotonic() - began)
            time.sleep(poll_s)
            record = self.get(record["id"])
        return record

    def _call(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise CallFailed(
                0, "unreachable", f"{self._http.base_url} does not answer: {error}"
            ) from error
        try:
            parsed: dict[str, Any] = answer.json()
            if answer.is_success:
                return parsed
            told = parsed["error"]
            retry = answer.headers.get("Retry-After")
            raise CallFailed(
                answer.status_code,
                told["code"],
                told["message"],
                int(retry) if retry and retry.isdecimal() else None,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise CallFailed(
                answer.status_code,
                "server_error",
                f"{self._http.base_url} is no server of this API",
            ) from error
