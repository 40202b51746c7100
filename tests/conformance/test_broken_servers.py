"""The suite can fail: for each broken promise, the test named for it turns red.

A server is broken between its callers and itself: the transport changes requests or answers.
"""

import inspect
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from conformance import (
    test_body,
    test_holds,
    test_http,
    test_idempotency,
    test_limits,
    test_order,
    test_quota,
    test_record,
    test_reuse,
)
from conformance.rows import HERE, ROOT
from conformance.sandboxes import FEW, one_process
from conformance.target import URLS, Target

pytestmark = pytest.mark.slow


@dataclass
class Call:
    """One call: the request, and once it has been sent, the answer."""

    request: httpx.Request
    transport: httpx.BaseTransport
    seen: Counter[str]  # of all calls to one server
    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    content: bytes = b""

    @property
    def is_search(self) -> bool:
        return self.request.method == "POST" and self.request.url.path == "/v1/contacts"

    @property
    def body(self) -> bytes:
        return self.request.read()

    def sent(self, name: str) -> str:
        return str(self.request.headers.get(name, ""))

    def send(self, body: bytes | None = None, **headers: str | None) -> None:
        """Send the request with *body* and *headers* (``None`` leaves one out) in place."""
        lines = httpx.Headers(self.request.headers)
        for name in ("content-length", "transfer-encoding") if body is not None else ():
            lines.pop(name, None)
        for name, value in headers.items():
            lines.pop(name.replace("_", "-"), None)
            if value is not None:
                lines[name.replace("_", "-")] = value
        url, content = self.request.url, self.body if body is None else body
        request = httpx.Request(self.request.method, url, headers=lines, content=content)
        request.extensions = dict(self.request.extensions)
        answer = self.transport.handle_request(request)
        self.content, self.status, self.headers = (
            answer.read(),
            answer.status_code,
            answer.headers,
        )

    @property
    def record(self) -> dict[str, Any]:
        """The JSON object of the answer, empty if there is none."""
        try:
            read = json.loads(self.content)
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}

    def tell(self, **fields: Any) -> None:
        """Put *fields* into the JSON object of the answer."""
        self.content = json.dumps(self.record | fields).encode()

    def refuse(self, status: int, code: str) -> None:
        self.status = status
        self.content = json.dumps({"error": {"code": code, "message": "spoiled"}}).encode()


Spoil = Callable[[Call], None]


class Spoiling(httpx.BaseTransport):
    def __init__(self, spoil: Spoil, transport: httpx.BaseTransport) -> None:
        self._spoil, self._transport, self._seen = spoil, transport, Counter[str]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        call = Call(request, self._transport, self._seen)
        self._spoil(call)
        if request.method != "HEAD":
            call.headers["content-length"] = str(len(call.content))
        return httpx.Response(call.status, headers=call.headers, content=call.content)

    def close(self) -> None:
        """Stay open, as what it sends with."""


def sends(wrong: bytes, right: bytes) -> Spoil:
    """Return a spoil that reads one text in a body as another."""
    return lambda call: call.send(call.body.replace(wrong, right))


def answers(change: Callable[[Call], object]) -> Spoil:
    """Return a spoil that changes the answer."""

    def spoil(call: Call) -> None:
        call.send()
        change(call)

    return spoil


def leaves_out(header: str) -> Spoil:
    return answers(lambda call: call.headers.pop(header, None))


def tells(made: Callable[[dict[str, Any]], Mapping[str, Any] | None]) -> Spoil:
    """Return a spoil that puts fields into the record of an answer."""
    return answers(lambda call: call.tell(**(made(call.record) or {})) if call.record else None)


def ignores(name: str) -> Spoil:
    """Return a spoil that looks at one of brand and domain only."""

    def spoil(call: Call) -> None:
        asked = json.loads(call.body or b"{}")
        both = {"brand", "domain"} <= asked.keys()
        call.send(
            json.dumps({n: v for n, v in asked.items() if n != name}).encode() if both else None
        )

    return spoil


def limits_before_quota(call: Call) -> None:
    call.send()
    call.seen[call.sent("authorization")] += call.is_search and call.status in {200, 202}
    if call.status == 402 and call.seen[call.sent("authorization")] >= 6:
        call.refuse(429, "rate_limited")


def failures_charged(call: Call) -> None:
    call.send()
    failed = call.record.get("status") == "failed"
    call.seen[call.sent("authorization")] += call.is_search and failed
    if usage := call.record.get("usage"):
        more = call.seen[call.sent("authorization")]
        usage |= {"used": usage["used"] + more, "remaining": usage["remaining"] - more}
        call.tell(usage=usage, **({"charged": True} if failed else {}))


def one_second_short(call: Call) -> None:
    call.send()
    for name in ("retry-after", "ratelimit-reset") if call.status == 429 else ():
        call.headers[name] = str(int(call.headers[name]) - 1)


def everybody_reads(call: Call) -> None:
    search = call.request.url.path.rpartition("/")[2]
    owner = [line for line in call.seen if line.startswith(f"{search} ")]
    call.send(authorization=owner[0].partition(" ")[2] if owner else call.sent("authorization"))
    if call.is_search and "id" in call.record:
        call.seen[f"{call.record['id']} {call.sent('authorization')}"] += 1


def retries_never_held(call: Call) -> None:
    key = call.sent("idempotency-key")
    call.seen[key] += 1
    again = key and call.seen[key] > 1
    call.send(call.body.replace(b'"wait":true', b'"wait":false') if again else None)


def refusals_count(call: Call) -> None:
    call.send()
    if call.is_search and call.status == 400:
        kept = call.status, call.headers, call.content
        call.send(b'{"brand": "Nowhere Known Trading"}')
        call.status, call.headers, call.content = kept


def first_field_counts(call: Call) -> None:
    pairs = call.body.count(b'"brand"') > 1
    read = json.loads(call.body, object_pairs_hook=lambda p: dict(p[::-1])) if pairs else None
    call.send(json.dumps(read).encode() if pairs else None)


def usage_frozen(call: Call) -> None:
    call.send()
    if "id" in call.record and call.record["status"] != "running":
        used = call.seen.setdefault(call.record["id"], call.record["usage"]["used"])
        call.tell(usage=call.record["usage"] | {"used": used})


def any_json(call: Call) -> None:
    kind = call.sent("content-type")
    call.send(content_type="application/json" if "json" in kind else kind or None)


def refuses(when: Callable[[Call], bool], status: int, code: str) -> Spoil:
    return answers(lambda call: call.refuse(status, code) if when(call) else None)


def redirects(call: Call) -> None:
    call.send()
    if call.status == 404 and call.request.url.path.endswith("/"):
        call.status = 307
        call.headers["location"] = call.request.url.path.rstrip("/")


def sets(header: str, value: Callable[[Call], str | None]) -> Spoil:
    """Return a spoil that puts a header into the answers that it has a value for."""

    def change(call: Call) -> None:
        if (given := value(call)) is not None:
            call.headers[header] = given

    return answers(change)


def _held_as_used(record: dict[str, Any]) -> Mapping[str, Any] | None:
    if record.get("status") != "running":
        return None
    usage = record["usage"]
    return {"usage": {**usage, "used": usage["used"] + 1, "remaining": usage["remaining"] - 1}}


def _guesses(record: dict[str, Any]) -> Mapping[str, Any]:
    contacts = record.get("contacts")
    guessed = [c | {"email": c["email"] or "guess@brand.test"} for c in contacts or ()]
    return {"contacts": guessed} if contacts else {}


def nulls_left_out(call: Call) -> None:
    call.send()
    if call.record.get("status") == "done":
        kept = {name: value for name, value in call.record.items() if value is not None}
        call.content = json.dumps(kept).encode()


#: What is broken: how, the test that has to be red, and its arguments besides the server's.
BROKEN: dict[str, tuple[Spoil, Callable[..., None], dict[str, Any]]] = {
    "402 after 429": (
        limits_before_quota,
        test_order.test_of_two_obstacles_the_earlier_is_told,
        {"pair": ("quota", "windows")},
    ),
    "402 for the last unit": (
        refuses(
            lambda c: c.status == 429 and b"last unit" in c.content, 402, "quota_exhausted"
        ),
        test_quota.test_the_last_unit_is_held_by_the_search_that_runs,
        {},
    ),
    "a seventh field in a running body": (
        tells(lambda r: {"cached": False} if r.get("status") == "running" else None),
        test_record.test_a_running_search_has_exactly_six_fields,
        {},
    ),
    "a charge on a failed search": (
        failures_charged,
        test_quota.test_a_failed_search_gives_its_unit_back,
        {},
    ),
    "Retry-After one second short": (
        one_second_short,
        test_limits.test_sleeping_as_long_as_retry_after_says_is_long_enough,
        {"again": 1},
    ),
    "another key's search readable": (
        everybody_reads,
        test_record.test_another_keys_search_is_as_unknown_as_any,
        {},
    ),
    "a reused answer with a new searched_at": (
        tells(lambda r: {"searched_at": "2038-01-19T03:14:07Z"} if r.get("cached") else None),
        test_reuse.test_a_reused_answer_is_of_the_time_of_its_run,
        {},
    ),
    "wait ignored": (
        sends(b'"wait":true', b'"wait":false'),
        test_holds.test_a_call_is_held_85_seconds_and_then_told_202,
        {},
    ),
    "a retry is not held": (
        retries_never_held,
        test_holds.test_a_retry_of_a_search_that_runs_is_held_too,
        {},
    ),
    "Idempotency-Key ignored": (
        lambda call: call.send(idempotency_key=None),
        test_idempotency.test_a_retry_with_its_idempotency_key_is_the_same_search_and_free,
        {},
    ),
    "refused requests count": (
        refusals_count,
        test_limits.test_refused_requests_count_nowhere,
        {},
    ),
    "headers of the minute on a 200": (
        sets("ratelimit-limit", lambda c: "6" if c.status == 200 else None),
        test_limits.test_headers_describe_the_day_and_on_a_refusal_the_limit_that_was_hit,
        {},
    ),
    "a day that never gets nearer": (
        sets(
            "ratelimit-reset",
            lambda c: "86400" if c.headers.get("ratelimit-limit") == "60" else None,
        ),
        test_limits.test_headers_describe_the_day_and_on_a_refusal_the_limit_that_was_hit,
        {},
    ),
    "unknown ids asked for without end": (
        refuses(
            lambda c: c.status == 429 and c.request.url.path.endswith("/srch_unknown"),
            404,
            "not_found",
        ),
        test_limits.test_120_checks_a_minute_over_both_paths_and_unknown_ids_count,
        {},
    ),
    "a 401 without a challenge": (
        leaves_out("www-authenticate"),
        test_http.test_whatever_is_no_one_bearer_key_is_401_with_a_challenge,
        {},
    ),
    "a 405 without Allow": (
        leaves_out("allow"),
        test_http.test_a_method_that_is_not_taken_is_405_with_those_that_are,
        {"method": "PUT", "path": "/contacts", "allowed": {"POST"}},
    ),
    "the caller's X-Request-Id echoed": (
        sets("x-request-id", lambda c: c.sent("x-request-id") or None),
        test_http.test_every_response_has_an_id_of_its_own_made_here,
        {},
    ),
    "open to pages of any origin": (
        sets("access-control-allow-origin", lambda _: "*"),
        test_http.test_pages_of_other_origins_may_read_the_description_only,
        {},
    ),
    "a redirect for a trailing slash": (
        redirects,
        test_http.test_an_unknown_path_is_404_with_a_key_and_401_without,
        {"path": "/contacts/"},
    ),
    "a request id in the body of an error": (
        tells(
            lambda r: {"error": r["error"] | {"request_id": "req_1"}} if "error" in r else {}
        ),
        test_http.test_an_error_is_one_object_with_code_and_message,
        {},
    ),
    "guessed emails shown": (
        tells(_guesses),
        test_record.test_verified_is_an_email_is_a_source,
        {"brand": "Harrowfinch"},
    ),
    "contacts in the wrong order": (
        tells(lambda r: {"contacts": r["contacts"][::-1]} if "contacts" in r else None),
        test_record.test_contacts_stand_verified_first_and_then_by_role,
        {},
    ),
    "usage of the past": (usage_frozen, test_record.test_usage_is_of_the_moment_of_reading, {}),
    "microseconds": (
        tells(
            lambda r: (
                {"searched_at": r["searched_at"].replace("Z", ".000001Z")}
                if "searched_at" in r
                else None
            )
        ),
        test_record.test_times_are_utc_in_whole_seconds,
        {},
    ),
    "poll_url with a host": (
        tells(lambda r: {"poll_url": f"http://x{r['poll_url']}"} if "poll_url" in r else None),
        test_record.test_a_202_tells_where_and_when_to_poll,
        {},
    ),
    "a 202 without Location": (
        leaves_out("location"),
        test_record.test_a_202_tells_where_and_when_to_poll,
        {},
    ),
    "nulls left out": (
        nulls_left_out,
        test_record.test_a_done_search_has_every_field,
        {"brand": "Veltrana"},
    ),
    "a held unit shown as used": (
        tells(_held_as_used),
        test_quota.test_the_last_unit_is_held_by_the_search_that_runs,
        {},
    ),
    "conclusive failures not reused": (
        tells(lambda r: {"cached": False} if r.get("status") == "failed" else None),
        test_reuse.test_a_conclusive_failure_is_reused_and_a_breakdown_is_not,
        {"brand": "Grimsole", "reason": "no_contacts", "reused": True},
    ),
    "cached when read again": (
        answers(
            lambda c: c.tell(cached=True) if not c.is_search and "cached" in c.record else None
        ),
        test_reuse.test_a_finished_search_is_the_same_for_ever_but_for_usage,
        {},
    ),
    "the brand ignored next to a domain": (
        ignores("brand"),
        test_body.test_one_domain_with_two_brands_is_two_searches,
        {},
    ),
    "the domain ignored next to a brand": (
        ignores("domain"),
        test_reuse.test_a_brand_with_its_domain_never_answers_the_bare_name,
        {},
    ),
    "the first of two fields counts": (
        first_field_counts,
        test_body.test_of_two_fields_with_one_name_the_last_counts,
        {},
    ),
    "text/json taken": (
        any_json,
        test_body.test_any_other_media_type_is_refused,
        {"media_type": "text/json"},
    ),
    "wait as a string taken": (
        sends(b'"wait":"true"', b'"wait":true'),
        test_body.test_wait_is_a_boolean,
        {"wait": "true"},
    ),
    "unknown fields refused": (
        refuses(lambda c: b'"x"' in c.body, 400, "invalid_request"),
        test_body.test_unknown_fields_are_ignored,
        {},
    ),
    "an e-mail address taken as a brand": (
        sends(b"jane@acme.com", b"Acme of Jane"),
        test_body.test_an_email_address_is_no_brand,
        {"brand": "jane@acme.com"},
    ),
    "every at sign taken for an address": (
        sends(b"@", b"@acme.com,jane@"),
        test_body.test_a_name_with_an_at_sign_is_a_brand,
        {"brand": "@nike"},
    ),
    "an A-label of no name taken": (
        sends(b"xn--a.test", b"a.test"),
        test_body.test_a_label_that_stands_for_no_name_is_refused,
        {"domain": "xn--a.test"},
    ),
    "no A-labels taken": (
        sends(b"xn--bcher-kva", b"xn--a"),
        test_body.test_a_label_that_stands_for_a_name_is_taken,
        {"domain": "xn--bcher-kva.example"},
    ),
    "413 for a long body": (
        refuses(lambda c: c.is_search and len(c.body) > 16 * 1024, 413, "invalid_request"),
        test_body.test_a_body_of_16_kib_is_taken_and_a_longer_one_is_not,
        {},
    ),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with one_process(tmp_path_factory.mktemp("broken") / "data", FEW) as target:
        yield target


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_server_turns_its_test_red_and_a_sound_one_does_not(
    sound: Target, what: str
) -> None:
    spoil, test, arguments = BROKEN[what]
    broken = replace(sound, _transport=Spoiling(spoil, sound.transport))

    test(**of(test, sound) | arguments)
    with pytest.raises((AssertionError, KeyError, httpx.InvalidURL)):
        test(**of(test, broken) | arguments)


def of(test: Callable[..., None], target: Target) -> dict[str, Any]:
    """Return the fixtures that *test* asks for, of *target* (as in `conftest`)."""
    makers: dict[str, Callable[[], Any]] = {
        "target": lambda: target,
        "fresh": lambda: target,
        "caller": target.caller,
        "bare": target.bare,
        "records": lambda: {
            brand: target.caller().found(brand=brand) for brand in ("Veltrana", "Harrowfinch")
        },
    }
    wanted = inspect.signature(test).parameters
    if {"fresh", "records"} & wanted.keys():
        target.a_month_later()
    return {name: make() for name, make in makers.items() if name in wanted}


#: Runs pytest where nothing of the service can be imported.
WITHOUT_IT = """
import sys

sys.modules["cs"] = None
import pytest

sys.exit(pytest.main(sys.argv[1:]))
"""


def test_a_deployment_is_tested_without_the_service_at_hand() -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    collected = subprocess.run(
        [
            *(sys.executable, "-c", WITHOUT_IT, "--collect-only", "-p", "no:cacheprovider"),
            *("--rootdir", str(ROOT), "--confcutdir", str(HERE), str(HERE)),
        ],
        cwd=ROOT,
        env=clean | {URLS: "http://127.0.0.1:1/v1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert collected.returncode == 0, collected.stdout
