"""What verification services answer, in their documented shapes, and what is to be made of it.

Bodies hold the fields that are used and some that are not, as the services send them.
"""

import json
from typing import Any

from cs.domain.mail.mailbox import Verdict

V = Verdict


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def hunter(status: str, **given: Any) -> bytes:
    data = {
        "status": status,
        "result": "deliverable",
        "score": 97,
        "email": "jo@acme.test",
        "regexp": True,
        "gibberish": False,
        "disposable": False,
        "webmail": False,
        "mx_records": True,
        "smtp_server": True,
        "smtp_check": True,
        "accept_all": False,
        "block": False,
        "sources": [],
        **given,
    }
    return _json({"data": data, "meta": {"params": {"email": "jo@acme.test"}}})


def zerobounce(status: str, sub_status: str = "") -> bytes:
    return _json(
        {
            "address": "jo@acme.test",
            "status": status,
            "sub_status": sub_status,
            "free_email": False,
            "did_you_mean": None,
            "mx_found": "true",
            "mx_record": "mx.acme.test",
            "firstname": None,
            "processed_at": "2026-11-20 09:12:00.000",
        }
    )


def neverbounce(result: str, *flags: str, status: str = "success", message: str = "") -> bytes:
    if status != "success":
        return _json({"status": status, "message": message, "execution_time": 2})
    return _json(
        {
            "status": status,
            "result": result,
            "flags": ["has_dns", "has_dns_mx", *flags],
            "suggested_correction": "",
            "credits_info": {"paid_credits_remaining": 950, "free_credits_remaining": 50},
            "execution_time": 499,
        }
    )


def millionverifier(result: str, error: str = "") -> bytes:
    return _json({"email": "jo@acme.test", "result": result, "error": error, "free": False})


def kickbox(result: str, reason: str, *, accept_all: bool | None = False) -> bytes:
    return _json(
        {
            "result": result,
            "reason": reason,
            "role": False,
            "free": False,
            "disposable": False,
            "accept_all": accept_all,
            "did_you_mean": None,
            "sendex": 0.9,
            "success": True,
            "message": None,
        }
    )


def reacher(is_reachable: str, *, accepts_mail: bool = True, **smtp: Any) -> bytes:
    found = {
        "can_connect_smtp": True,
        "has_full_inbox": False,
        "is_catch_all": False,
        "is_deliverable": False,
        "is_disabled": False,
        **smtp,
    }
    return _json(
        {
            "input": "jo@acme.test",
            "is_reachable": is_reachable,
            "misc": {"is_disposable": False, "is_role_account": False, "is_b2c": False},
            "mx": {"accepts_mail": accepts_mail, "records": ["mx.acme.test."]},
            "smtp": found if "error" not in smtp else {"error": smtp["error"]},
            "syntax": {"address": "jo@acme.test", "is_valid_syntax": True},
            "debug": {"server_name": "backend-1"},
        }
    )


UP, DOWN, ALL, FULL, DUNNO = (
    V.DELIVERABLE,
    V.UNDELIVERABLE,
    V.CATCH_ALL,
    V.MAILBOX_FULL,
    V.UNKNOWN,
)
#: Service, status, body, verdict, reason.
ANSWERS: tuple[tuple[str, int, bytes, Verdict, str], ...] = (
    ("hunter", 200, hunter("valid"), UP, "said-valid"),
    ("hunter", 200, hunter("valid", accept_all=True), ALL, "catch-all"),
    ("hunter", 200, hunter("valid", accept_all=None), DUNNO, "said-valid"),
    ("hunter", 200, hunter("valid", block=True), DUNNO, "said-valid"),
    ("hunter", 200, hunter("valid", disposable=True), DUNNO, "said-valid"),
    ("hunter", 200, hunter("accept_all", accept_all=True), ALL, "catch-all"),
    ("hunter", 200, hunter("invalid", smtp_check=False), DOWN, "said-invalid"),
    ("hunter", 200, hunter("disposable"), DOWN, "said-disposable"),
    ("hunter", 200, hunter("webmail"), DUNNO, "said-webmail"),
    ("hunter", 200, hunter("webmail", smtp_check=False), DOWN, "said-webmail"),
    ("hunter", 200, hunter("unknown"), DUNNO, "said-unknown"),
    ("hunter", 200, hunter("something new"), DUNNO, "said-something-new"),
    ("hunter", 202, b"", DUNNO, "pending"),
    ("hunter", 451, b'{"errors": [{"id": "claimed_email"}]}', DUNNO, "restricted"),
    ("hunter", 403, b'{"errors": [{"id": "forbidden"}]}', DUNNO, "rate-limited"),
    ("hunter", 429, b'{"errors": [{"id": "usage_exceeded"}]}', DUNNO, "no-credits"),
    ("hunter", 401, b'{"errors": [{"id": "authentication_failed"}]}', DUNNO, "key-refused"),
    ("hunter", 200, b'{"data": {"score": 3}}', DUNNO, "wrong-shape"),
    ("zerobounce", 200, zerobounce("valid"), UP, "said-valid"),
    ("zerobounce", 200, zerobounce("Valid", "alternate"), UP, "said-valid-alternate"),
    ("zerobounce", 200, zerobounce("valid", "accept_all"), ALL, "catch-all"),
    ("zerobounce", 200, zerobounce("valid", "role_based_accept_all"), ALL, "catch-all"),
    (
        *("zerobounce", 200, zerobounce("valid", "ai_agent_mailbox")),
        *(DUNNO, "said-valid-ai-agent-mailbox"),
    ),
    ("zerobounce", 200, zerobounce("valid", "new_word"), DUNNO, "said-valid-new-word"),
    ("zerobounce", 200, zerobounce("catch-all"), ALL, "catch-all"),
    (
        *("zerobounce", 200, zerobounce("invalid", "mailbox_not_found")),
        *(DOWN, "said-invalid-mailbox-not-found"),
    ),
    (
        *("zerobounce", 200, zerobounce("invalid", "mailbox_quota_exceeded")),
        *(FULL, "said-invalid-mailbox-quota-exceeded"),
    ),
    (
        *("zerobounce", 200, zerobounce("unknown", "greylisted")),
        *(DUNNO, "said-unknown-greylisted"),
    ),
    ("zerobounce", 200, zerobounce("spamtrap"), DUNNO, "said-spamtrap"),
    (
        *("zerobounce", 200, zerobounce("do_not_mail", "global_suppression")),
        *(DUNNO, "said-do-not-mail-global-suppression"),
    ),
    (
        *("zerobounce", 200),
        b'{"error": "Invalid API key or your account ran out of credits"}',
        *(DUNNO, "key-refused"),
    ),
    ("zerobounce", 200, b'{"error": "Missing parameter: email."}', DUNNO, "bad-question"),
    ("zerobounce", 403, b"<html>Shield", DUNNO, "rate-limited"),
    ("neverbounce", 200, neverbounce("valid", "smtp_connectable"), UP, "said-valid"),
    ("neverbounce", 200, neverbounce("valid", "accepts_all"), ALL, "catch-all"),
    ("neverbounce", 200, neverbounce("valid", "spamtrap_network"), DUNNO, "said-valid"),
    ("neverbounce", 200, neverbounce("valid", "connect_fails"), DUNNO, "said-valid"),
    # Envelopes of other shapes than documented: what they do not say is no success.
    ("neverbounce", 200, b'{"result": "valid"}', DUNNO, "said-valid"),
    (
        *(
            "neverbounce",
            200,
            b'{"status": "auth_failure", "message": null, "result": "valid"}',
        ),
        *(DUNNO, "said-valid"),
    ),
    (
        *("zerobounce", 200, b'{"error": ["?"], "status": "valid", "sub_status": ""}'),
        *(DUNNO, "wrong-shape"),
    ),
    (
        *("millionverifier", 200, b'{"result": "ok", "error": 5}'),
        *(DUNNO, "wrong-shape"),
    ),
    ("neverbounce", 200, neverbounce("catchall"), ALL, "catch-all"),
    ("neverbounce", 200, neverbounce("invalid"), DOWN, "said-invalid"),
    ("neverbounce", 200, neverbounce("disposable"), DOWN, "said-disposable"),
    ("neverbounce", 200, neverbounce("unknown"), DUNNO, "said-unknown"),
    (
        *("neverbounce", 200, neverbounce("", status="auth_failure", message="Invalid key")),
        *(DUNNO, "key-refused"),
    ),
    (
        *("neverbounce", 200),
        neverbounce("", status="general_failure", message="Insufficient credits"),
        *(DUNNO, "no-credits"),
    ),
    (
        *("neverbounce", 200, neverbounce("", status="throttle_triggered")),
        *(DUNNO, "rate-limited"),
    ),
    ("neverbounce", 200, neverbounce("", status="temp_unavail"), DUNNO, "out-of-order"),
    ("neverbounce", 200, neverbounce("", status="bad_referrer"), DUNNO, "key-refused"),
    ("millionverifier", 200, millionverifier("ok"), UP, "said-ok"),
    ("millionverifier", 200, millionverifier("catch_all"), ALL, "catch-all"),
    ("millionverifier", 200, millionverifier("invalid"), DOWN, "said-invalid"),
    ("millionverifier", 200, millionverifier("disposable"), DOWN, "said-disposable"),
    ("millionverifier", 200, millionverifier("unknown"), DUNNO, "said-unknown"),
    (
        *("millionverifier", 200, millionverifier("error", "apikey not found")),
        *(DUNNO, "key-refused"),
    ),
    (
        *("millionverifier", 200, millionverifier("", "Insufficient credits")),
        *(DUNNO, "no-credits"),
    ),
    ("millionverifier", 200, millionverifier("error"), DUNNO, "out-of-order"),
    (
        *("kickbox", 200, kickbox("deliverable", "accepted_email")),
        *(UP, "said-deliverable-accepted-email"),
    ),
    (
        *("kickbox", 200, kickbox("deliverable", "accepted_email", accept_all=True)),
        *(ALL, "catch-all"),
    ),
    (
        *("kickbox", 200, kickbox("deliverable", "accepted_email", accept_all=None)),
        *(DUNNO, "said-deliverable-accepted-email"),
    ),
    (
        *("kickbox", 200, kickbox("risky", "low_deliverability", accept_all=True)),
        *(ALL, "catch-all"),
    ),
    ("kickbox", 200, kickbox("risky", "low_quality"), DUNNO, "said-risky-low-quality"),
    (
        *("kickbox", 200, kickbox("undeliverable", "rejected_email")),
        *(DOWN, "said-undeliverable-rejected-email"),
    ),
    ("kickbox", 200, kickbox("unknown", "timeout"), DUNNO, "said-unknown-timeout"),
    (
        *("kickbox", 200, b'{"success": false, "message": "Insufficient balance"}'),
        *(DUNNO, "no-credits"),
    ),
    ("kickbox", 403, b'{"message": "Invalid API key"}', DUNNO, "key-refused"),
    ("reacher", 200, reacher("safe", is_deliverable=True), UP, "said-safe"),
    (
        *("reacher", 200, reacher("safe", is_deliverable=True, is_catch_all=True)),
        *(ALL, "catch-all"),
    ),
    ("reacher", 200, reacher("safe"), DUNNO, "said-safe"),
    (
        *("reacher", 200, reacher("safe", is_deliverable=True, can_connect_smtp=False)),
        *(DUNNO, "said-safe"),
    ),
    ("reacher", 200, reacher("risky", is_catch_all=True), ALL, "catch-all"),
    ("reacher", 200, reacher("risky", is_deliverable=True), DUNNO, "said-risky"),
    ("reacher", 200, reacher("risky", has_full_inbox=True), FULL, "said-risky"),
    ("reacher", 200, reacher("invalid"), DOWN, "said-invalid"),
    ("reacher", 200, reacher("invalid", is_disabled=True), DOWN, "said-invalid"),
    ("reacher", 200, reacher("invalid", accepts_mail=False), DUNNO, "said-invalid"),
    (
        *("reacher", 200, reacher("unknown", error={"type": "SmtpError", "message": "x"})),
        *(DUNNO, "said-unknown"),
    ),
    (
        *("reacher", 429, b'{"error": "Rate limit per minute exceeded, please wait 10 s"}'),
        *(DUNNO, "rate-limited"),
    ),
)
#: By service: how it says of an address that it is valid and that it is not.
PLAIN = {
    "hunter": (hunter("valid"), hunter("invalid")),
    "zerobounce": (zerobounce("valid"), zerobounce("invalid", "mailbox_not_found")),
    "neverbounce": (neverbounce("valid"), neverbounce("invalid")),
    "millionverifier": (millionverifier("ok"), millionverifier("invalid")),
    "kickbox": (
        kickbox("deliverable", "accepted_email"),
        kickbox("undeliverable", "rejected_email"),
    ),
    "reacher": (reacher("safe", is_deliverable=True), reacher("invalid")),
}
