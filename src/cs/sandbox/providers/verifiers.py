"""The six verifiers, each in its own words, on what the mail servers of a world would say.

None says of a mailbox that does not exist that it does: where a domain accepts every address
they say so, some by their own word and some behind "valid".
"""

from collections.abc import Callable
from typing import Any

from cs.sandbox.provider_shapes import Providers
from cs.sandbox.providers.hunter_file import HunterFile, hunter_error
from cs.sandbox.providers.mailbox_state import AddressState, MailboxTruth
from cs.sandbox.providers.provider import (
    BadQuestion,
    Provider,
    ProviderAnswer,
    body_of,
    in_header,
    in_query,
    told,
)
from cs.sandbox.web import HttpReply, HttpRequest

#: Makes the answer about an address of what is known of it.
Say = Callable[[str, AddressState], dict[str, Any]]


def hunter(file: HunterFile, mail: MailboxTruth, states: Providers) -> Provider:
    """Return Hunter: domain search, account, verifier; 202 at first where mail is slow."""
    asked: set[str] = set()
    searches = 0

    def verify(request: HttpRequest) -> ProviderAnswer:
        address = request.query.get("email", "")
        if mail.greylists(address) and address not in asked:
            asked.add(address)
            pending = told({"data": {"email": address, "status": "pending"}}, 202)
            return ProviderAnswer(reply=pending, line="hunter_verifier")
        known = mail.known(address, "hunter", states.hunter_verifier.unknown)
        reply = told({"data": _hunter(address, known), "meta": {"params": {"email": address}}})
        return ProviderAnswer(reply=reply, line="hunter_verifier", units=1)

    def answer(request: HttpRequest) -> ProviderAnswer:
        nonlocal searches
        match request.path:
            case "/domain-search":
                found = file.domain_search(request)
                searches += found.units
                return found
            case "/email-verifier":
                return verify(request)
            case "/account":
                return ProviderAnswer(reply=file.account(searches), line="hunter")
            case path:
                raise BadQuestion(f"no such path: {path}")

    return Provider(
        name="hunter",
        key_of=in_header("x-api-key"),
        refused=hunter_error(401, "authentication_failed", "No user found for the API key"),
        # Its words for used-up credits; 403 is its rate limit.
        empty=hunter_error(429, "too_many_requests", "You have reached your usage limit"),
        answer=answer,
    )


def _hunter(address: str, known: AddressState) -> dict[str, Any]:
    status = {
        "exists": "valid",
        "accepts-all": "accept_all",
        "full": "unknown",
        "no-answer": "unknown",
    }.get(known, "invalid")
    return {
        "status": status,
        "result": "deliverable" if status == "valid" else "risky",
        "score": 95 if status == "valid" else 40,
        "email": address,
        "regexp": True,
        "gibberish": False,
        "disposable": False,
        "webmail": False,
        "mx_records": known != "no-mail",
        "smtp_server": known not in {"no-mail", "no-answer"},
        "smtp_check": known == "exists",
        "accept_all": known == "accepts-all",
        "block": False,
        "sources": [],
    }


def single_checks(mail: MailboxTruth, states: Providers) -> list[Provider]:
    """Return the verifiers that do nothing else."""
    bad_key = "Invalid API key or your account ran out of credits"
    return [
        Provider(
            name="zerobounce",
            key_of=in_query("api_key"),
            refused=told({"error": bad_key}),
            empty=told({"error": bad_key}),
            # What it cannot tell of is free there.
            answer=_check(
                "zerobounce", "/validate", mail, states, _zerobounce, free={"no-answer"}
            ),
        ),
        Provider(
            name="neverbounce",
            key_of=in_query("key"),
            refused=_neverbounce_error("auth_failure", "Invalid API key 'x'"),
            empty=_neverbounce_error("general_failure", "Insufficient credits"),
            answer=_check("neverbounce", "/single/check", mail, states, _neverbounce),
        ),
        Provider(
            name="millionverifier",
            key_of=in_query("api"),
            refused=told({"result": "error", "error": "apikey not found"}),
            empty=told({"result": "error", "error": "Insufficient credits"}),
            answer=_check("millionverifier", "/", mail, states, _millionverifier),
        ),
        Provider(
            name="kickbox",
            key_of=in_query("apikey"),
            refused=told({"success": False, "message": "Invalid API key"}, 403),
            empty=told({"success": False, "message": "Insufficient balance"}),
            answer=_check("kickbox", "/verify", mail, states, _kickbox),
        ),
        Provider(
            name="reacher",
            key_of=in_header("x-reacher-secret"),
            refused=told({"error": "Invalid header secret"}, 401),
            empty=told({"error": "Rate limit per minute exceeded, please wait 60 s"}, 429),
            answer=_reacher_check(mail, states),
        ),
    ]


def _check(
    name: str,
    path: str,
    mail: MailboxTruth,
    states: Providers,
    say: Say,
    *,
    free: set[AddressState] | None = None,
) -> Callable[[HttpRequest], ProviderAnswer]:
    unknown: float = getattr(states, name).unknown

    def answer(request: HttpRequest) -> ProviderAnswer:
        address = request.query.get("email", "")
        if request.path != path or not address:
            raise BadQuestion(f"GET {path}?email= is played")
        known = mail.known(address, name, unknown)
        units = 0 if known in (free or ()) else 1
        return ProviderAnswer(reply=told(say(address, known)), line=name, units=units)

    return answer


def _zerobounce(address: str, known: AddressState) -> dict[str, Any]:
    status, sub = {
        "exists": ("valid", ""),
        # Behind "valid", as it often is.
        "accepts-all": ("valid", "accept_all"),
        "absent": ("invalid", "mailbox_not_found"),
        "full": ("invalid", "mailbox_quota_exceeded"),
        "disabled": ("invalid", "mailbox_not_found"),
        "no-mail": ("invalid", "no_dns_entries"),
        "no-answer": ("unknown", "failed_smtp_connection"),
    }[known]
    return {
        "address": address,
        "status": status,
        "sub_status": sub,
        "free_email": False,
        "did_you_mean": None,
        "mx_found": "true" if known != "no-mail" else "false",
        "processed_at": "2026-11-20 09:12:00.000",
    }


def _neverbounce(address: str, known: AddressState) -> dict[str, Any]:
    del address
    result = {"exists": "valid", "accepts-all": "catchall", "no-answer": "unknown"}
    flags = [] if known == "no-mail" else ["has_dns", "has_dns_mx"]
    if known in {"exists", "absent"}:
        flags.append("smtp_connectable")
    return {
        "status": "success",
        "result": result.get(known, "invalid"),
        "flags": flags,
        "suggested_correction": "",
        "credits_info": {"paid_credits_remaining": 950, "free_credits_remaining": 50},
        "execution_time": 499,
    }


def _neverbounce_error(status: str, message: str) -> HttpReply:
    return told({"status": status, "message": message, "execution_time": 2})


def _millionverifier(address: str, known: AddressState) -> dict[str, Any]:
    result = {"exists": "ok", "accepts-all": "catch_all", "no-answer": "unknown"}
    return {
        "email": address,
        "result": result.get(known, "invalid"),
        "error": "",
        "free": False,
    }


def _kickbox(address: str, known: AddressState) -> dict[str, Any]:
    result, reason = {
        "exists": ("deliverable", "accepted_email"),
        "accepts-all": ("risky", "low_deliverability"),
        "full": ("risky", "low_deliverability"),
        "no-mail": ("undeliverable", "invalid_domain"),
        "no-answer": ("unknown", "no_connect"),
    }.get(known, ("undeliverable", "rejected_email"))
    return {
        "result": result,
        "reason": reason,
        "role": False,
        "free": False,
        "disposable": False,
        "accept_all": known == "accepts-all",
        "did_you_mean": None,
        "sendex": 0.9,
        "email": address,
        "success": True,
        "message": None,
    }


def _reacher_check(
    mail: MailboxTruth, states: Providers
) -> Callable[[HttpRequest], ProviderAnswer]:
    def answer(request: HttpRequest) -> ProviderAnswer:
        if request.path not in {"/v0/check_email", "/v1/check_email"}:
            raise BadQuestion(f"no such path: {request.path}")
        address = str(body_of(request).get("to_email", ""))
        # It runs on our own machine, under our address: who refuses us refuses it.
        known = mail.known(address, "reacher", states.reacher.unknown, refused=True)
        return ProviderAnswer(reply=told(_reacher(address, known)), line="reacher", units=1)

    return answer


def _reacher(address: str, known: AddressState) -> dict[str, Any]:
    word = {"exists": "safe", "accepts-all": "risky", "full": "risky", "no-answer": "unknown"}
    smtp: dict[str, Any] = {
        "can_connect_smtp": known != "no-mail",
        "has_full_inbox": known == "full",
        "is_catch_all": known == "accepts-all",
        "is_deliverable": known in {"exists", "accepts-all"},
        "is_disabled": known == "disabled",
    }
    if known == "no-answer":
        smtp = {"error": {"type": "SmtpError", "message": "timeout"}}
    return {
        "input": address,
        "is_reachable": word.get(known, "invalid"),
        "misc": {"is_disposable": False, "is_role_account": False, "is_b2c": False},
        "mx": {"accepts_mail": known != "no-mail", "records": []},
        "smtp": smtp,
        "syntax": {"address": address, "is_valid_syntax": True},
        "debug": {"server_name": "sandbox"},
    }
