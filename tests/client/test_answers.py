"""What an answer means."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.answering import DONE, FAILED, RUNNING
from cs.client import (
    ApiError,
    AtCapacity,
    BadRequest,
    ClientError,
    Done,
    Failed,
    InFlight,
    MethodNotAllowed,
    NotFound,
    NotThisApi,
    Other,
    Paused,
    QuotaExceeded,
    RateLimited,
    Running,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unreachable,
    Usage,
)
from cs.client.calls import USAGE, Call, Reply, read_reply, search_call

SEARCH = search_call("srch_1")
JSON = {"content-type": "application/json"}


def judged(body: bytes, status: int = 200, call: Call = SEARCH, **headers: str) -> Any:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_reply(call, Reply(status, JSON | told, body), "here")


def told(code: str, message: str = "so") -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message}})


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [(RUNNING, Running, "running"), (DONE, Done, "done"), (FAILED, Failed, "failed")],
)
def test_a_search_is_of_the_class_of_its_status(
    body: bytes, kind: type[Running | Done | Failed], status: str
) -> None:
    found = judged(body)

    assert isinstance(found, kind)
    assert found.status == status
    assert found.usage == Usage(9, 1, 8)


def test_what_a_newer_server_adds_is_ignored() -> None:
    newer = msgspec.json.encode(
        {**msgspec.json.decode(DONE), "score": 3, "contacts": [{"x": 1}]}
    )

    found = judged(newer)

    assert isinstance(found, Done)
    assert found.contacts[0].email_status == "not_found"


def test_a_status_that_is_not_known_survives() -> None:
    found = judged(DONE.replace(b"done", b"archived"))

    assert isinstance(found, Other)
    assert (found.status, found.id) == ("archived", "srch_1")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_request", BadRequest),
        (401, "unauthorized", Unauthorized),
        (402, "quota_exhausted", QuotaExceeded),
        (404, "not_found", NotFound),
        (405, "invalid_request", MethodNotAllowed),
        (429, "rate_limited", RateLimited),
        (429, "too_many_in_flight", InFlight),
        (429, "a new one", TooManyRequests),
        (500, "server_error", ServerError),
        (503, "at_capacity", AtCapacity),
        (503, "api_disabled", Paused),
        (503, "a new one", Unavailable),
        (418, "teapot", ApiError),
        (301, "moved", ApiError),
    ],
)
def test_an_error_is_of_the_class_of_its_status_and_code(
    status: int, code: str, kind: type[ApiError]
) -> None:
    with pytest.raises(ApiError, match="so") as caught:
        judged(
            told(code),
            status,
            x_request_id="req_1",
            retry_after="7",
            ratelimit_limit="6",
            ratelimit_remaining="0",
            ratelimit_reset="7",
        )

    error = caught.value
    assert type(error) is kind
    assert (error.code, error.status, error.request_id) == (code, status, "req_1")
    assert error.retry_after_s == 7
    assert error.limits is not None
    assert (error.limits.limit, error.limits.remaining, error.limits.reset_s) == (6, 0, 7)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"[1]"),
        (200, b'{"ok": true}'),
        (200, DONE.replace(b'"id"', b'"other"')),
        (502, b'{"error": "bad gateway"}'),
        (404, b"not found"),
        (302, b""),
    ],
)
def test_an_answer_of_something_else_is_reported(status: int, body: bytes) -> None:
    with pytest.raises(NotThisApi, match=f"here answers with status {status}") as caught:
        judged(body, status)

    assert caught.value.status == status


@pytest.mark.parametrize("cut", [0, 1, 20, len(DONE) - 1])
def test_an_answer_that_was_cut_short_may_pass(cut: int) -> None:
    with pytest.raises(Unreachable) as caught:
        judged(DONE[:cut])

    assert caught.value.may_pass


headers = st.dictionaries(
    st.sampled_from(
        [
            "retry-after",
            "ratelimit",
            "ratelimit-policy",
            "ratelimit-reset",
            "date",
            "content-type",
        ]
    ),
    st.text()
    | st.sampled_from(["application/json", "Sat, 21 Nov 2026 00:00:00 GMT", "9" * 50]),
)
bodies = st.binary() | st.sampled_from([DONE, RUNNING, FAILED, told("x"), b"[" * 5000])


@settings(deadline=None)
@given(status=st.integers(100, 599), headers=headers, body=bodies)
def test_whatever_comes_is_a_value_or_an_error_of_ours(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    for call in (SEARCH, USAGE):
        with suppress(ClientError):
            found = read_reply(call, Reply(status, headers, body), "here")
            assert 200 <= status < 300
            assert isinstance(found, Usage) is (call is USAGE)
