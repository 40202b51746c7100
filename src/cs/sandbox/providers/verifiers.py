"""The six verifiers, each in its own words, on what the mail servers of a world would say.

None says of a mailbox that does not exist that it does: where a domain accepts every address
they say so, some by their own word and some behind "valid".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from cs.sandbox.drawing import drawn
from cs.sandbox.providers import BadQuestion, Provider, ProviderAnswer, Route, body_of
from cs.sandbox.servers import HttpRequest, json_reply
from cs.sandbox.shapes import Behaviour, Providers, World, WorldMailDomain
from cs.sandbox.smtp import Mailboxes
from cs.sandbox.world import mail_domains, mailbox_states

#: ``exists`` and ``absent`` are proved; ``no-answer``: the server or its DNS says nothing.
AddressState = Literal[
    "exists", "absent", "accepts-all", "full", "disabled", "no-mail", "no-answer"
]
#: By the state of a mailbox that a server is asked about.
_KNOWN: Mapping[str, AddressState] = {
    "open": "exists",
    "absent": "absent",
    "full": "full",
    "over_quota": "full",
    "disabled": "disabled",
    "refuses_us": "exists",
    "too_fast": "no-answer",
}
#: Longer than a verifier waits for each reply.
_TOO_SLOW_S = 5.0


class MailboxTruth:
    """The facts about an address that a careful client can learn from its mail servers."""

    def __init__(self, world: World) -> None:
        self._seed = world.seed
        self._domains = {mail.domain: mail for mail in mail_domains(world)}
        self._mailboxes = {
            mail.domain: Mailboxes(mail.domain, mailbox_states(world, mail), lambda: 0.0)
            for mail in self._domains.values()
        }

    def known(
        self, address: str, verifier: str, unknown: float, *, refused: bool = False
    ) -> AddressState:
        """Return what *verifier* finds out about *address*.

        Args:
            address: Of this world, or of none.
            verifier: Its name.
            unknown: The share of addresses about which it cannot say anything.
            refused: Servers that refuse us refuse it, too: it asks from the same machine.
        """
        domain = address.casefold().rpartition("@")[2]
        mail = self._domains.get(domain)
        if mail is None or mail.mx == "null":
            return "no-mail"
        if mail.dns != "answers" or drawn(self._seed, verifier, "unknown", address) < unknown:
            return "no-answer"
        behaviour = _behaviour(mail)
        match behaviour.kind:
            case "catch_all":
                return "accepts-all"
            case "down" | "silent" | "busy":
                return "no-answer"
            case "greylisting" if behaviour.then == "silent":
                return "no-answer"
            case "slow" if behaviour.delay_s > _TOO_SLOW_S:
                return "no-answer"
            case "refuses_us" if refused:
                return "no-answer"
        state = self._mailboxes[domain].state(behaviour, address.casefold())
        return "no-answer" if state == "refuses_us" and refused else _KNOWN[state]

    def greylists(self, address: str) -> bool:
        mail = self._domains.get(address.rpartition("@")[2])
        return mail is not None and _behaviour(mail).kind == "greylisting"


def _behaviour(mail: WorldMailDomain) -> Behaviour:
    """Return how the first exchanger that answers behaves."""
    hosts = sorted(mail.hosts, key=lambda host: host.preference)
    each = [host.behaviour or mail.behaviour for host in hosts] or [mail.behaviour]
    return next((behaviour for behaviour in each if behaviour.kind != "down"), each[0])


def hunter_verifier(mail: MailboxTruth, states: Providers) -> Route:
    """Return Hunter's verifier, which answers 202 at first where mail is slow."""
    asked: set[str] = set()

    def verify(request: HttpRequest) -> ProviderAnswer:
        address = request.query.get("email", "")
        if mail.greylists(address) and address not in asked:
            asked.add(address)
            pending = json_reply({"data": {"email": address, "status": "pending"}}, 202)
            return ProviderAnswer(reply=pending, line="hunter_verifier")
        known = mail.known(address, "hunter", states.hunter_verifier.unknown)
        word = {"exists": "valid", "accepts-all": "accept_all"} | dict.fromkeys(
            ("full", "no-answer"), "unknown"
        )
        status = word.get(known, "invalid")
        data: dict[str, object] = {
            "status": status,
            "email": address,
            "smtp_check": known == "exists",
            "accept_all": known == "accepts-all",
        }
        return ProviderAnswer(reply=json_reply({"data": data}), line="hunter_verifier", units=1)

    return verify


#: The verifiers that do nothing else: path and name of the key, replies to a wrong key and
#: from an empty account, what every answer holds, and what it holds for each state.
_CHECKS: Mapping[str, tuple[str, str, Any, Any, dict[str, Any], dict[str, dict[str, Any]]]] = {
    "zerobounce": (
        "/validate",
        "api_key",
        {"error": "Invalid API key or your account ran out of credits"},
        {"error": "Invalid API key or your account ran out of credits"},
        {"status": "invalid", "sub_status": "mailbox_not_found", "mx_found": "true"},
        {
            "exists": {"status": "valid", "sub_status": ""},
            # Behind "valid", as it often is.
            "accepts-all": {"status": "valid", "sub_status": "accept_all"},
            "full": {"sub_status": "mailbox_quota_exceeded"},
            "no-mail": {"sub_status": "no_dns_entries", "mx_found": "false"},
            "no-answer": {"status": "unknown", "sub_status": "failed_smtp_connection"},
        },
    ),
    "neverbounce": (
        "/single/check",
        "key",
        {"status": "auth_failure", "message": "Invalid API key 'x'", "execution_time": 2},
        {"status": "general_failure", "message": "Insufficient credits", "execution_time": 2},
        {"status": "success", "result": "invalid", "flags": ["has_dns", "has_dns_mx"]},
        {
            "exists": {"result": "valid", "flags": ["has_dns_mx", "smtp_connectable"]},
            "absent": {"flags": ["has_dns_mx", "smtp_connectable"]},
            "accepts-all": {"result": "catchall"},
            "no-mail": {"flags": []},
            "no-answer": {"result": "unknown"},
        },
    ),
    "millionverifier": (
        "/",
        "api",
        {"result": "error", "error": "apikey not found"},
        {"result": "error", "error": "Insufficient credits"},
        {"result": "invalid", "error": ""},
        {
            "exists": {"result": "ok"},
            "accepts-all": {"result": "catch_all"},
            "no-answer": {"result": "unknown"},
        },
    ),
    "kickbox": (
        "/verify",
        "apikey",
        {"success": False, "message": "Invalid API key"},
        {"success": False, "message": "Insufficient balance"},
        {
            "result": "undeliverable",
            "reason": "rejected_email",
            "accept_all": False,
            "success": True,
        },
        {
            "exists": {"result": "deliverable", "reason": "accepted_email"},
            "accepts-all": {
                "result": "risky",
                "reason": "low_deliverability",
                "accept_all": True,
            },
            "full": {"result": "risky", "reason": "low_deliverability"},
            "no-mail": {"reason": "invalid_domain"},
            "no-answer": {"result": "unknown", "reason": "no_connect"},
        },
    ),
}


def single_checks(mail: MailboxTruth, states: Providers) -> Iterator[Provider]:
    """Yield the verifiers that do nothing else."""
    for name, (path, key, refused, empty, always, by_state) in _CHECKS.items():
        status = 403 if name == "kickbox" else 200
        yield Provider(
            name=name,
            key=("query", key),
            refused=json_reply(refused, status),
            empty=json_reply(empty, status),
            routes={path: _check(name, mail, getattr(states, name).unknown, always, by_state)},
        )
    reacher = _reacher_check(mail, states)
    yield Provider(
        name="reacher",
        key=("header", "x-reacher-secret"),
        refused=json_reply({"error": "Invalid header secret"}, 401),
        empty=json_reply({"error": "Rate limit per minute exceeded, please wait 60 s"}, 429),
        routes={"/v0/check_email": reacher, "/v1/check_email": reacher},
    )


def _check(
    name: str,
    mail: MailboxTruth,
    unknown: float,
    always: dict[str, Any],
    by_state: dict[str, dict[str, Any]],
) -> Route:
    def answer(request: HttpRequest) -> ProviderAnswer:
        address = request.query.get("email", "")
        if not address:
            raise BadQuestion("an email is asked about here")
        known = mail.known(address, name, unknown)
        reply = json_reply(always | by_state.get(known, {}) | {"email": address})
        # What it cannot say anything about is free at ZeroBounce.
        units = 0 if name == "zerobounce" and known == "no-answer" else 1
        return ProviderAnswer(reply=reply, line=name, units=units)

    return answer


def _reacher_check(mail: MailboxTruth, states: Providers) -> Route:
    word = {"exists": "safe", "accepts-all": "risky", "full": "risky", "no-answer": "unknown"}

    def answer(request: HttpRequest) -> ProviderAnswer:
        address = str(body_of(request).get("to_email", ""))
        # It runs on our own machine, under our address: servers that refuse us refuse it.
        known = mail.known(address, "reacher", states.reacher.unknown, refused=True)
        smtp: dict[str, Any] = {
            "can_connect_smtp": known != "no-mail",
            "has_full_inbox": known == "full",
            "is_catch_all": known == "accepts-all",
            "is_deliverable": known in {"exists", "accepts-all"},
            "is_disabled": known == "disabled",
        }
        if known == "no-answer":
            smtp = {"error": {"type": "SmtpError", "message": "timeout"}}
        answered = {
            "input": address,
            "is_reachable": word.get(known, "invalid"),
            "misc": {"is_disposable": False},
            "mx": {"accepts_mail": known != "no-mail"},
            "smtp": smtp,
            "syntax": {"is_valid_syntax": True},
        }
        return ProviderAnswer(reply=json_reply(answered), line="reacher", units=1)

    return answer
