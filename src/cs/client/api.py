"""A small client of any server of this API."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

#: A call with ``wait`` is held up to 85 s (SPEC.md 4.1).
TIMEOUT_S = 100.0
#: How often a running search is asked for; the service allows 120 checks a minute.
POLL_S = 1.0
#: Never asked through a proxy that the environment names.
HERE = frozenset({"127.0.0.1", "::1", "localhost"})


class CallFailed(Exception):
    """The server answered with an error, or with nothing of this API.

    Attributes:
        status: HTTP status; 0 if there was no answer.
        code: One of the nine codes of the API; "unreachable" if there was no answer,
            "not_this_api" if the answer was none of this API.
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
    """Use as ``with``.  *base_url* includes the version: ``http://127.0.0.1:8080/v1``.

    Raises:
        CallFailed: *base_url* is no address, or *key* has characters that no key has.
    """

    def __init__(self, base_url: str, key: str) -> None:
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise CallFailed(0, "unauthorized", "an API key has only letters, digits and _")
        try:
            host = httpx.URL(base_url).host
        except httpx.InvalidURL:
            host = ""
        if not host or not base_url.startswith(("http://", "https://")):
            like = "an address looks like http://127.0.0.1:8080/v1"
            raise CallFailed(0, "unreachable", f"{base_url!r} is no address; {like}")
        self._base_url = base_url.rstrip("/")
        self._http = httpx.Client(
            base_url=base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=TIMEOUT_S,
            trust_env=host not in HERE,
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
        given = {name: value for name, value in body.items() if value is not None}
        return self._call("POST", "/contacts", _RECORD, given)

    def get(self, search: str) -> dict[str, Any]:
        return self._call("GET", f"/searches/{quote(search, safe='')}", _RECORD)

    def usage(self) -> dict[str, Any]:
        return self._call("GET", "/usage", _USAGE)

    def wait(
        self,
        record: dict[str, Any],
        running: Callable[[float], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> dict[str, Any]:
        """Poll until *record*'s search has ended; *running* hears the seconds gone by.

        A limit that is met on the way is waited out.
        """
        began = time.monotonic()
        while record["status"] == "running":
            running(time.monotonic() - began)
            sleep(POLL_S)
            try:
                record = self.get(record["id"])
            except CallFailed as failed:
                if failed.status != 429:
                    raise
                sleep(failed.retry_after_s or POLL_S)
        return record

    def _call(
        self, method: str, path: str, fields: frozenset[str], body: Any = None
    ) -> dict[str, Any]:
        """Return the answer, which has at least *fields*."""
        try:
            answer = self._http.request(method, path, json=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CallFailed(
                0, "unreachable", f"{self._base_url} does not answer: {error}"
            ) from error
        try:
            parsed = answer.json()
        except ValueError:
            parsed = None
        match parsed:
            case {"error": {"code": str(code), "message": str(message)}}:
                retry = answer.headers.get("Retry-After", "")
                wait_s = int(retry) if retry.isdecimal() else None
                raise CallFailed(answer.status_code, code, message, wait_s)
            case dict() if answer.is_success and fields <= parsed.keys():
                return parsed
            case _:
                raise CallFailed(
                    answer.status_code,
                    "not_this_api",
                    f"{self._base_url} answers with status {answer.status_code} and is no "
                    "server of this API; does the address end with /v1?",
                )


_RECORD = frozenset({"id", "status", "brand", "usage"})
_USAGE = frozenset({"quota", "used", "remaining"})
