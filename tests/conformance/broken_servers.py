"""Servers that break one promise each, and the test that has to notice."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from conformance.breaking import Call, Spoil


@dataclass
class LimitsBeforeQuota(Spoil):
    counted: Counter[str] = field(default_factory=Counter)

    def after(self, call: Call) -> None:
        key = call.header("authorization")
        if call.is_search and call.status in {200, 202}:
            self.counted[key] += 1
        if call.status == 402 and self.counted[key] >= 6:
            call.refuse(429, "rate_limited", "6 searches per minute are allowed for a key")


class SeventhField(Spoil):
    def after(self, call: Call) -> None:
        if call.record.get("status") == "running":
            call.tell(cached=False)


@dataclass
class FailuresCharged(Spoil):
    failed: Counter[str] = field(default_factory=Counter)

    def after(self, call: Call) -> None:
        key, record = call.header("authorization"), call.record
        if call.is_search and record.get("status") == "failed":
            self.failed[key] += 1
        if usage := record.get("usage"):
            more = self.failed[key]
            usage |= {
                "used": usage["used"] + more,
                "remaining": usage["remaining"] - more,
            }
            charged = {"charged": True} if record["status"] == "failed" else {}
            call.tell(usage=usage, **charged)


class OneSecondShort(Spoil):
    def after(self, call: Call) -> None:
        if call.status == 429:
            for name in ("retry-after", "ratelimit-reset"):
                call.sent[name] = str(int(call.sent[name]) - 1)


@dataclass
class EverybodyReads(Spoil):
    made_by: dict[str, str] = field(default_factory=dict)

    def before(self, call: Call) -> None:
        owner = self.made_by.get(call.path.rpartition("/")[2])
        if owner and call.header("authorization").startswith("Bearer"):
            call.set_header("authorization", owner)

    def after(self, call: Call) -> None:
        if call.is_search and "id" in call.record:
            self.made_by[call.record["id"]] = call.header("authorization")


class ReusedIsNew(Spoil):
    def after(self, call: Call) -> None:
        if call.record.get("cached") is True:
            call.tell(searched_at="2038-01-19T03:14:07Z")


class NeverHeld(Spoil):
    def before(self, call: Call) -> None:
        call.set_body(call.body.replace(b'"wait":true', b'"wait":false'))


class RetriesAreNew(Spoil):
    def before(self, call: Call) -> None:
        call.set_header("idempotency-key", None)


class RefusalsCount(Spoil):
    def again(self, call: Call) -> bytes | None:
        wrong = call.is_search and call.status == 400
        return b'{"brand": "Nowhere Known Trading"}' if wrong else None


class MinuteShown(Spoil):
    def after(self, call: Call) -> None:
        if call.status == 200 and "ratelimit-limit" in call.sent:
            call.sent |= {"ratelimit-limit": "6", "ratelimit-remaining": "5"}


class NoChallenge(Spoil):
    def after(self, call: Call) -> None:
        call.sent.pop("www-authenticate", None)


class NoAllow(Spoil):
    def after(self, call: Call) -> None:
        call.sent.pop("allow", None)


class CallersRequestId(Spoil):
    def after(self, call: Call) -> None:
        if sent := call.header("x-request-id"):
            call.sent["x-request-id"] = sent


class GuessesTold(Spoil):
    def after(self, call: Call) -> None:
        if contacts := call.record.get("contacts"):
            guessed = [c | {"email": c["email"] or "guess@brand.test"} for c in contacts]
            call.tell(contacts=guessed)


class WorstFirst(Spoil):
    def after(self, call: Call) -> None:
        if contacts := call.record.get("contacts"):
            call.tell(contacts=contacts[::-1])


class FirstFieldCounts(Spoil):
    def before(self, call: Call) -> None:
        if call.body.count(b'"brand"') > 1:
            pairs: list[tuple[str, Any]] = json.loads(call.body, object_pairs_hook=list)
            call.set_body(json.dumps(dict(reversed(pairs))).encode())


class AnyJsonType(Spoil):
    def before(self, call: Call) -> None:
        if "json" in call.header("content-type"):
            call.set_header("content-type", "application/json")


class WaitIsTruthy(Spoil):
    def before(self, call: Call) -> None:
        call.set_body(call.body.replace(b'"wait":"true"', b'"wait":true'))


class NothingUnknown(Spoil):
    def after(self, call: Call) -> None:
        if call.is_search and b'"x"' in call.body and call.status in {200, 202}:
            call.refuse(400, "invalid_request", "there is no field `x`")


@dataclass
class TakenAs(Spoil):
    """One text within the body is read as another, which is right."""

    wrong: bytes
    right: bytes

    def before(self, call: Call) -> None:
        call.set_body(call.body.replace(self.wrong, self.right))


@dataclass
class UsageFrozen(Spoil):
    first: dict[str, Any] = field(default_factory=dict)

    def after(self, call: Call) -> None:
        if "id" in call.record and call.record["status"] != "running":
            usage = self.first.setdefault(call.record["id"], call.record["usage"])
            call.tell(usage=usage)


class Redirects(Spoil):
    def after(self, call: Call) -> None:
        if call.status == 404 and call.path.endswith("/"):
            call.status = 307
            call.sent["location"] = call.path.rstrip("/")


class Microseconds(Spoil):
    def after(self, call: Call) -> None:
        if at := call.record.get("searched_at"):
            call.tell(searched_at=at.replace("Z", ".000001Z"))


class WholePollUrl(Spoil):
    def after(self, call: Call) -> None:
        if path := call.record.get("poll_url"):
            call.tell(poll_url=f"http://{call.header('host')}{path}")


class FailuresNotReused(Spoil):
    def after(self, call: Call) -> None:
        if call.record.get("status") == "failed":
            call.tell(cached=False)


class OpenToPages(Spoil):
    def after(self, call: Call) -> None:
        call.sent["access-control-allow-origin"] = "*"


class TooLarge(Spoil):
    def after(self, call: Call) -> None:
        if call.is_search and len(call.body) > 16 * 1024:
            call.refuse(413, "invalid_request", "the body is too large")


class LastUnitIsQuota(Spoil):
    def after(self, call: Call) -> None:
        if call.status == 429 and b"last unit" in call.answer:
            call.refuse(402, "quota_exhausted", "all searches of this key are used")


class NullsLeftOut(Spoil):
    def after(self, call: Call) -> None:
        if call.record.get("status") == "done":
            told = {n: v for n, v in call.record.items() if v is not None}
            call.answer = json.dumps(told).encode()


class RequestIdInError(Spoil):
    def after(self, call: Call) -> None:
        if error := call.record.get("error"):
            call.tell(error=error | {"request_id": call.sent["x-request-id"]})


class ReusedWhenReadAgain(Spoil):
    def after(self, call: Call) -> None:
        if not call.is_search and "cached" in call.record:
            call.tell(cached=True)


class ReservedIsUsed(Spoil):
    def after(self, call: Call) -> None:
        if call.record.get("status") == "running":
            usage = call.record["usage"]
            more = {"used": usage["used"] + 1, "remaining": usage["remaining"] - 1}
            call.tell(usage=usage | more)


@dataclass
class OneFieldOnly(Spoil):
    """Of brand and domain only one is looked at."""

    ignored: str

    def before(self, call: Call) -> None:
        if call.is_search and b'"brand"' in call.body and b'"domain"' in call.body:
            asked = json.loads(call.body)
            del asked[self.ignored]
            call.set_body(json.dumps(asked).encode())


class UnknownIdsForNothing(Spoil):
    def after(self, call: Call) -> None:
        if call.status == 429 and call.path.endswith("/srch_unknown"):
            call.refuse(404, "not_found", "no search with this id was made with this key")


class NoLocation(Spoil):
    def after(self, call: Call) -> None:
        call.sent.pop("location", None)


class DayAlwaysWhole(Spoil):
    def after(self, call: Call) -> None:
        if call.sent.get("ratelimit-limit") == "60":
            call.sent["ratelimit-reset"] = "86400"


@dataclass
class RetriesNeverHeld(NeverHeld):
    seen: set[str] = field(default_factory=set)

    def before(self, call: Call) -> None:
        key = call.header("idempotency-key")
        if key in self.seen:
            super().before(call)
        elif key:
            self.seen.add(key)


@dataclass(frozen=True)
class Broken:
    spoil: Callable[[], Spoil]
    test: str  # "test_body.py::test_...", that has to be red


BROKEN: Mapping[str, Broken] = {
    "402 after 429": Broken(
        LimitsBeforeQuota,
        "test_order.py::test_of_two_obstacles_the_earlier_is_told[given-quota and windows]",
    ),
    "402 for the last unit": Broken(
        LastUnitIsQuota, "test_quota.py::test_the_last_unit_is_held_by_the_search_that_runs"
    ),
    "a seventh field in a running body": Broken(
        SeventhField, "test_record.py::test_a_running_search_has_exactly_six_fields"
    ),
    "a charge on a failed search": Broken(
        FailuresCharged, "test_quota.py::test_a_failed_search_gives_its_unit_back"
    ),
    "Retry-After one second short": Broken(
        OneSecondShort,
        "test_limits.py::test_sleeping_as_long_as_retry_after_says_is_long_enough",
    ),
    "another key's search readable": Broken(
        EverybodyReads, "test_record.py::test_another_keys_search_is_as_unknown_as_any"
    ),
    "a reused answer with a new searched_at": Broken(
        ReusedIsNew, "test_reuse.py::test_a_reused_answer_is_of_the_time_of_its_run"
    ),
    "wait ignored": Broken(
        NeverHeld, "test_holds.py::test_a_call_is_held_85_seconds_and_then_told_202"
    ),
    "Idempotency-Key ignored": Broken(
        RetriesAreNew,
        "test_idempotency.py::test_a_retry_with_its_idempotency_key_is_the_same_search_and_free",
    ),
    "refused requests count": Broken(
        RefusalsCount, "test_limits.py::test_refused_requests_count_nowhere"
    ),
    "headers of the minute on a 200": Broken(
        MinuteShown,
        "test_limits.py::test_headers_describe_the_day_and_on_a_refusal_the_limit_that_was_hit",
    ),
    "a 401 without a challenge": Broken(
        NoChallenge, "test_http.py::test_whatever_is_no_one_bearer_key_is_401_with_a_challenge"
    ),
    "a 405 without Allow": Broken(
        NoAllow, "test_http.py::test_a_method_that_is_not_taken_is_405_with_those_that_are"
    ),
    "the caller's X-Request-Id echoed": Broken(
        CallersRequestId, "test_http.py::test_every_response_has_an_id_of_its_own_made_here"
    ),
    "guessed emails told": Broken(
        GuessesTold, "test_record.py::test_verified_is_an_email_is_a_source"
    ),
    "contacts in the wrong order": Broken(
        WorstFirst, "test_record.py::test_contacts_stand_verified_first_and_then_by_role"
    ),
    "the first of two fields counts": Broken(
        FirstFieldCounts, "test_body.py::test_of_two_fields_with_one_name_the_last_counts"
    ),
    "text/json taken": Broken(
        AnyJsonType, "test_body.py::test_any_other_media_type_is_refused"
    ),
    "wait as a string taken": Broken(WaitIsTruthy, "test_body.py::test_wait_is_a_boolean"),
    "unknown fields refused": Broken(
        NothingUnknown, "test_body.py::test_unknown_fields_are_ignored"
    ),
    "an e-mail address taken as a brand": Broken(
        partial(TakenAs, b"jane@acme.com", b"Acme of Jane"),
        "test_body.py::test_an_email_address_is_no_brand",
    ),
    "every at sign taken for an address": Broken(
        partial(TakenAs, b"@", b"@acme.com,jane@"),
        "test_body.py::test_a_name_with_an_at_sign_is_a_brand",
    ),
    "an A-label of no name taken": Broken(
        partial(TakenAs, b"xn--a.test", b"a.test"),
        "test_body.py::test_a_label_that_stands_for_no_name_is_refused",
    ),
    "no A-labels taken": Broken(
        partial(TakenAs, b"xn--bcher-kva", b"xn--a"),
        "test_body.py::test_a_label_that_stands_for_a_name_is_taken",
    ),
    "413 for a long body": Broken(
        TooLarge, "test_body.py::test_a_body_of_16_kib_is_taken_and_a_longer_one_is_not"
    ),
    "usage of the past": Broken(
        UsageFrozen, "test_record.py::test_usage_is_of_the_moment_of_reading"
    ),
    "a redirect for a trailing slash": Broken(
        Redirects, "test_http.py::test_an_unknown_path_is_404_with_a_key_and_401_without"
    ),
    "microseconds": Broken(Microseconds, "test_record.py::test_times_are_utc_in_whole_seconds"),
    "poll_url with a host": Broken(
        WholePollUrl, "test_record.py::test_a_202_tells_where_and_when_to_poll"
    ),
    "conclusive failures not reused": Broken(
        FailuresNotReused,
        "test_reuse.py::test_a_conclusive_failure_is_reused_and_a_breakdown_is_not",
    ),
    "nulls left out": Broken(
        NullsLeftOut, "test_record.py::test_a_done_search_has_every_field"
    ),
    "a request id in the body of an error": Broken(
        RequestIdInError, "test_http.py::test_an_error_is_one_object_with_code_and_message"
    ),
    "cached when read again": Broken(
        ReusedWhenReadAgain,
        "test_reuse.py::test_a_finished_search_is_the_same_for_ever_but_for_usage",
    ),
    "a held unit shown as used": Broken(
        ReservedIsUsed, "test_quota.py::test_the_last_unit_is_held_by_the_search_that_runs"
    ),
    "the brand ignored beside a domain": Broken(
        partial(OneFieldOnly, "brand"),
        "test_body.py::test_one_domain_with_two_brands_is_two_searches",
    ),
    "the domain ignored beside a brand": Broken(
        partial(OneFieldOnly, "domain"),
        "test_reuse.py::test_a_brand_with_its_domain_never_answers_the_bare_name",
    ),
    "unknown ids asked for without end": Broken(
        UnknownIdsForNothing,
        "test_limits.py::test_120_checks_a_minute_over_both_paths_and_unknown_ids_count",
    ),
    "a 202 without Location": Broken(
        NoLocation, "test_record.py::test_a_202_tells_where_and_when_to_poll"
    ),
    "a day that never gets nearer": Broken(
        DayAlwaysWhole,
        "test_limits.py::test_headers_describe_the_day_and_on_a_refusal_the_limit_that_was_hit",
    ),
    "a retry is not held": Broken(
        RetriesNeverHeld, "test_holds.py::test_a_retry_of_a_search_that_runs_is_held_too"
    ),
    "open to pages of any origin": Broken(
        OpenToPages,
        "test_http.py::test_pages_of_other_origins_may_read_the_description_only",
    ),
}
