"""What verification services answer, in their documented shapes, and what is to be made of it.

Bodies hold the fields that are used and some that are not, as the services send them.
"""

import json
from typing import Any

from msgspec.structs import replace

from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.outside.port import ApiClient, Response
from cs.paid_calls.budgets import Budgets
from cs.paid_calls.current_work import set_current_lookup
from cs.paid_calls.register import PaidCalls
from cs.plugins.contracts.stand_in import Answer, verifier_context
from cs.plugins.entry_points import Group
from cs.plugins.hosted import HostedVerifier
from harness.clients import plugin
from harness.places import budgets_in, calls_in

V = Verdict
KEY = "k3y-of-ours"


def verifier(name: str, client: ApiClient, key: str = KEY) -> HostedVerifier[Any]:
    """Return the verifier of the service *name*, asking through *client*."""
    rate, burst = (10.0, 10) if name == "hunter" else (100.0, 25)
    context = verifier_context(
        client, url="https://api.test/v9", key=key, calls_per_s=rate, burst=burst
    )
    context = replace(context, budgets=budgets_in(None), paid=PaidCalls(calls_in(None)))
    made: HostedVerifier[Any] = plugin(Group.VERIFIERS, name, context)
    return made


def budgets_of(verifier: HostedVerifier[Any]) -> Budgets:
    return verifier.service._budgets


async def checked(verifier: HostedVerifier[Any]) -> Evidence:
    """Return what *verifier* finds out about one address, in one lookup."""
    with set_current_lookup("brand-a.1"):
        async with verifier.open("acme.test", DomainFacts()) as check:
            return await check.check("ada@acme.test")


def saying(status: int, body: bytes, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda asked: Response(status=status, headers=named, body=body, url=asked.path)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def hunter(status: str, **given: Any) -> bytes:
    data = {"status": status, "score": 97, "email": "jo@acme.test", "disposable": False}
    data |= {"webmail": False, "smtp_check": True, "accept_all": False, "block": False, **given}
    return _json({"data": data, "meta": {"params": {"email": "jo@acme.test"}}})


def zerobounce(status: str, sub_status: str = "") -> bytes:
    more = {"address": "jo@acme.test", "mx_found": "true", "firstname": None}
    return _json({"status": status, "sub_status": sub_status, **more})


def neverbounce(result: str, *flags: str, status: str = "success", message: str = "") -> bytes:
    if status != "success":
        return _json({"status": status, "message": message, "execution_time": 2})
    left = {"paid_credits_remaining": 950, "free_credits_remaining": 50}
    known = ["has_dns", "has_dns_mx", *flags]
    return _json({"status": status, "result": result, "flags": known, "credits_info": left})


def millionverifier(result: str, error: str = "") -> bytes:
    return _json({"email": "jo@acme.test", "result": result, "error": error, "free": False})


def kickbox(result: str, reason: str, *, accept_all: bool | None = False) -> bytes:
    more = {"disposable": False, "sendex": 0.9, "success": True, "message": None}
    return _json({"result": result, "reason": reason, "accept_all": accept_all, **more})


def reacher(is_reachable: str, *, accepts_mail: bool = True, **smtp: Any) -> bytes:
    flags = ("has_full_inbox", "is_catch_all", "is_deliverable", "is_disabled")
    found = {"can_connect_smtp": True, **dict.fromkeys(flags, False), **smtp}
    return _json(
        {
            "input": "jo@acme.test",
            "is_reachable": is_reachable,
            "misc": {"is_disposable": False, "is_role_account": False},
            "mx": {"accepts_mail": accepts_mail, "records": ["mx.acme.test."]},
            "smtp": found if "error" not in smtp else {"error": smtp["error"]},
            "syntax": {"address": "jo@acme.test", "is_valid_syntax": True},
        }
    )


UP, DOWN, ALL, FULL, DUNNO = (
    V.DELIVERABLE,
    V.UNDELIVERABLE,
    V.CATCH_ALL,
    V.MAILBOX_FULL,
    V.UNKNOWN,
)
#: By service its answers: body, verdict, reason, and the status if it is not 200.  Bodies of
#: other shapes than documented are no success by what they leave out.
ANSWERS: dict[str, list[tuple[bytes, Verdict, str] | tuple[bytes, Verdict, str, int]]] = {
    "hunter": [
        (hunter("valid"), UP, "said-valid"),
        (hunter("valid", accept_all=True), ALL, "catch-all"),
        (hunter("valid", accept_all=None), DUNNO, "said-valid"),
        (hunter("valid", block=True), DUNNO, "said-valid"),
        (hunter("valid", disposable=True), DUNNO, "said-valid"),
        (hunter("accept_all", accept_all=True), ALL, "catch-all"),
        (hunter("invalid", smtp_check=False), DOWN, "said-invalid"),
        (hunter("disposable"), DOWN, "said-disposable"),
        (hunter("webmail"), DUNNO, "said-webmail"),
        (hunter("webmail", smtp_check=False), DOWN, "said-webmail"),
        (hunter("unknown"), DUNNO, "said-unknown"),
        (hunter("something new"), DUNNO, "said-something-new"),
        (b"", DUNNO, "pending", 202),
        (b'{"errors": [{"id": "claimed_email"}]}', DUNNO, "restricted", 451),
        (b'{"errors": [{"id": "forbidden"}]}', DUNNO, "rate-limited", 403),
        (b'{"errors": [{"id": "usage_exceeded"}]}', DUNNO, "no-credits", 429),
        (b'{"errors": [{"id": "authentication_failed"}]}', DUNNO, "key-refused", 401),
        (b'{"data": {"score": 3}}', DUNNO, "wrong-shape"),
    ],
    "zerobounce": [
        (zerobounce("valid"), UP, "said-valid"),
        (zerobounce("Valid", "alternate"), UP, "said-valid-alternate"),
        (zerobounce("valid", "accept_all"), ALL, "catch-all"),
        (zerobounce("valid", "role_based_accept_all"), ALL, "catch-all"),
        (zerobounce("valid", "ai_agent_mailbox"), DUNNO, "said-valid-ai-agent-mailbox"),
        (zerobounce("valid", "new_word"), DUNNO, "said-valid-new-word"),
        (zerobounce("catch-all"), ALL, "catch-all"),
        (zerobounce("invalid", "mailbox_not_found"), DOWN, "said-invalid-mailbox-not-found"),
        (
            zerobounce("invalid", "mailbox_quota_exceeded"),
            FULL,
            "said-invalid-mailbox-quota-exceeded",
        ),
        (zerobounce("unknown", "greylisted"), DUNNO, "said-unknown-greylisted"),
        (zerobounce("spamtrap"), DUNNO, "said-spamtrap"),
        (
            zerobounce("do_not_mail", "global_suppression"),
            DUNNO,
            "said-do-not-mail-global-suppression",
        ),
        (
            b'{"error": "Invalid API key or your account ran out of credits"}',
            DUNNO,
            "key-refused",
        ),
        (b'{"error": "Missing parameter: email."}', DUNNO, "bad-question"),
        (b"<html>Shield", DUNNO, "rate-limited", 403),
        (b'{"error": ["?"], "status": "valid", "sub_status": ""}', DUNNO, "wrong-shape"),
    ],
    "neverbounce": [
        (neverbounce("valid", "smtp_connectable"), UP, "said-valid"),
        (neverbounce("valid", "accepts_all"), ALL, "catch-all"),
        (neverbounce("valid", "spamtrap_network"), DUNNO, "said-valid"),
        (neverbounce("valid", "connect_fails"), DUNNO, "said-valid"),
        (b'{"result": "valid"}', DUNNO, "said-valid"),
        (
            b'{"status": "auth_failure", "message": null, "result": "valid"}',
            DUNNO,
            "said-valid",
        ),
        (neverbounce("catchall"), ALL, "catch-all"),
        (neverbounce("invalid"), DOWN, "said-invalid"),
        (neverbounce("disposable"), DOWN, "said-disposable"),
        (neverbounce("unknown"), DUNNO, "said-unknown"),
        (neverbounce("", status="auth_failure", message="Invalid key"), DUNNO, "key-refused"),
        (
            neverbounce("", status="general_failure", message="Insufficient credits"),
            DUNNO,
            "no-credits",
        ),
        (neverbounce("", status="throttle_triggered"), DUNNO, "rate-limited"),
        (neverbounce("", status="temp_unavail"), DUNNO, "out-of-order"),
        (neverbounce("", status="bad_referrer"), DUNNO, "key-refused"),
    ],
    "millionverifier": [
        (b'{"result": "ok", "error": 5}', DUNNO, "wrong-shape"),
        (millionverifier("ok"), UP, "said-ok"),
        (millionverifier("catch_all"), ALL, "catch-all"),
        (millionverifier("invalid"), DOWN, "said-invalid"),
        (millionverifier("disposable"), DOWN, "said-disposable"),
        (millionverifier("unknown"), DUNNO, "said-unknown"),
        (millionverifier("error", "apikey not found"), DUNNO, "key-refused"),
        (millionverifier("", "Insufficient credits"), DUNNO, "no-credits"),
        (millionverifier("error"), DUNNO, "out-of-order"),
    ],
    "kickbox": [
        (kickbox("deliverable", "accepted_email"), UP, "said-deliverable-accepted-email"),
        (kickbox("deliverable", "accepted_email", accept_all=True), ALL, "catch-all"),
        (
            kickbox("deliverable", "accepted_email", accept_all=None),
            DUNNO,
            "said-deliverable-accepted-email",
        ),
        (kickbox("risky", "low_deliverability", accept_all=True), ALL, "catch-all"),
        (kickbox("risky", "low_quality"), DUNNO, "said-risky-low-quality"),
        (kickbox("undeliverable", "rejected_email"), DOWN, "said-undeliverable-rejected-email"),
        (kickbox("unknown", "timeout"), DUNNO, "said-unknown-timeout"),
        (b'{"success": false, "message": "Insufficient balance"}', DUNNO, "no-credits"),
        (b'{"message": "Invalid API key"}', DUNNO, "key-refused", 403),
    ],
    "reacher": [
        (reacher("safe", is_deliverable=True), UP, "said-safe"),
        (reacher("safe", is_deliverable=True, is_catch_all=True), ALL, "catch-all"),
        (reacher("safe"), DUNNO, "said-safe"),
        (reacher("safe", is_deliverable=True, can_connect_smtp=False), DUNNO, "said-safe"),
        (reacher("risky", is_catch_all=True), ALL, "catch-all"),
        (reacher("risky", is_deliverable=True), DUNNO, "said-risky"),
        (reacher("risky", has_full_inbox=True), FULL, "said-risky"),
        (reacher("invalid"), DOWN, "said-invalid"),
        (reacher("invalid", is_disabled=True), DOWN, "said-invalid"),
        (reacher("invalid", accepts_mail=False), DUNNO, "said-invalid"),
        (
            reacher("unknown", error={"type": "SmtpError", "message": "x"}),
            DUNNO,
            "said-unknown",
        ),
        (
            b'{"error": "Rate limit per minute exceeded, please wait 10 s"}',
            DUNNO,
            "rate-limited",
            429,
        ),
    ],
}
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
