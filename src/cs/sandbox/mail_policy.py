"""What a mail server of the world answers, without any socket.

Wordings are those of real servers (Postfix, Exim, Exchange), addresses echoed as they
do; the codes are RFC 5321 section 4.2 and RFC 3463.
"""

import math
from collections.abc import Callable

import msgspec

from cs.sandbox.mail_behaviour import (
    Behaviour,
    CatchAll,
    Disabled,
    Full,
    Greylisting,
    MailboxState,
    OneRecipient,
    RefusesUs,
    Silent,
)

_MAX_WAITING = 10_000
#: How long a greylisting server remembers a client; Postgrey's --max-age is 35 days.
_REMEMBERED_S = 30 * 86_400.0


class SandboxReply(msgspec.Struct, frozen=True):
    """One SMTP reply; *text* starts with the enhanced code where there is one."""

    code: int
    text: str

    def line(self) -> str:
        return f"{self.code} {self.text}"


class Sender(msgspec.Struct, frozen=True):
    """Who is asking: the client's address and its MAIL FROM."""

    client: str
    mail_from: str


class Mailboxes:
    """The mailboxes of one mail domain and what its servers remember of clients."""

    def __init__(
        self, domain: str, states: dict[str, MailboxState], clock: Callable[[], float]
    ) -> None:
        self.domain = domain
        self._states: dict[str, MailboxState] = {"postmaster": "open", **states}
        self._clock = clock
        self._first_seen: dict[tuple[str, ...], float] = {}

    def recipient(
        self, behaviour: Behaviour, address: str, sender: Sender, nth: int
    ) -> SandboxReply:
        """Answer RCPT for *address*, the *nth* of its session, counted from 1."""
        match behaviour:
            case RefusesUs(at="rcpt"):
                return _state_reply("refuses_us", address, sender)
            case OneRecipient() if nth > 1:
                return SandboxReply(452, "4.5.3 Error: too many recipients in this session")
            case Greylisting() if left := self._wait(behaviour, address, sender):
                seconds = math.ceil(left)
                return SandboxReply(
                    451,
                    f"4.7.1 <{address}>: Recipient address rejected: Greylisted, "
                    f"please try again in {seconds} seconds",
                )
            case _:
                return _state_reply(self.state(behaviour, address), address, sender)

    def is_mute(self, behaviour: Behaviour, client: str) -> bool:
        """Say whether a server would say nothing at all to *client*."""
        match behaviour:
            case Silent():
                return True
            case Greylisting(then="silent", hint_s=hint_s):
                now = self._clock()
                seen = [at for key, at in self._first_seen.items() if key[0] == client]
                return any(hint_s <= now - at < _REMEMBERED_S for at in seen)
            case _:
                return False

    def state(self, behaviour: Behaviour, address: str) -> MailboxState:
        """Return the state of *address* at a server of that behaviour."""
        local = address.rpartition("@")[0].casefold()
        state = self._states.get(local, "absent")
        match behaviour:
            case CatchAll() if state == "absent":
                return "open"
            case Full(code=code) if state == "open" and local != "postmaster":
                return "full" if code == 452 else "over_quota"
            case Disabled() if state == "open" and local != "postmaster":
                return "disabled"
            case _:
                return state

    def _wait(self, behaviour: Greylisting, address: str, sender: Sender) -> float:
        """Return how many seconds are left to wait, 0 once they have gone by."""
        key: tuple[str, ...] = (sender.client,)
        if behaviour.remembers == "recipient":
            key = (sender.client, sender.mail_from, address.casefold())
        now = self._clock()
        if key not in self._first_seen and len(self._first_seen) >= _MAX_WAITING:
            self._first_seen.pop(next(iter(self._first_seen)))
        if now - self._first_seen.setdefault(key, now) >= _REMEMBERED_S:
            self._first_seen[key] = now
        return max(0.0, self._first_seen[key] + behaviour.hint_s - now)


def banner(behaviour: Behaviour, host: str, client: str) -> SandboxReply:
    """Return what *host* says when *client* connects; anything but 220 ends the session."""
    match behaviour:
        case RefusesUs(at="banner"):
            return SandboxReply(
                554,
                f"5.7.1 {host} Your access to this mail system from [{client}] was rejected",
            )
        case _:
            return SandboxReply(220, f"{host} ESMTP ready")


def _state_reply(state: MailboxState, address: str, sender: Sender) -> SandboxReply:
    match state:
        case "open":
            return SandboxReply(250, "2.1.5 Ok")
        case "absent":
            return SandboxReply(
                550,
                f"5.1.1 <{address}>: Recipient address rejected: "
                "User unknown in virtual mailbox table",
            )
        case "full":
            return SandboxReply(
                452, f"4.2.2 <{address}>: Mailbox is full, please try again later"
            )
        case "over_quota":
            return SandboxReply(552, f"5.2.2 <{address}>: Mailbox is over its quota")
        case "disabled":
            return SandboxReply(550, f"5.2.1 <{address}>: The e-mail account is disabled")
        case "refuses_us":
            return SandboxReply(
                550,
                f"5.7.1 <{address}>: Recipient address rejected: "
                f"client host [{sender.client}] is blocked by our policy",
            )
        case "too_fast":
            return SandboxReply(
                450,
                f"4.2.1 <{address}>: The user is receiving mail at a rate that prevents "
                "additional messages from being delivered",
            )
