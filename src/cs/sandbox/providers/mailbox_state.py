"""What somebody who asks a mail server well can know of an address of a world."""

from typing import Literal

from cs.sandbox.drawing import drawn
from cs.sandbox.layout import mail_domains, mailbox_states
from cs.sandbox.mail_behaviour import (
    Behaviour,
    Busy,
    CatchAll,
    Disabled,
    Down,
    Full,
    Greylisting,
    MailboxState,
    RefusesUs,
    Silent,
    Slow,
)
from cs.sandbox.shapes import Brand, World, WorldMailDomain

#: ``exists`` and ``absent`` are proved; ``no-answer``: the server or its DNS tells nothing.
AddressState = Literal[
    "exists", "absent", "accepts-all", "full", "disabled", "no-mail", "no-answer"
]
#: Longer than a verifier waits for each reply.
_TOO_SLOW_S = 5.0


class MailboxTruth:
    """The mailboxes of *world*, whoever asks."""

    def __init__(self, world: World) -> None:
        self._seed = world.seed
        self._domains = {mail.domain: mail for mail in mail_domains(world)}
        self._states: dict[str, dict[str, MailboxState]] = {
            mail.domain: {"postmaster": "open", **mailbox_states(world, mail)}
            for mail in self._domains.values()
        }

    def accepts_all(self, brand: Brand) -> bool:
        mail = self._domains[brand.mail_domain or brand.domain]
        return isinstance(_behaviour(mail), CatchAll)

    def known(
        self, address: str, verifier: str, unknown: float, *, refused: bool = False
    ) -> AddressState:
        """Return what *verifier* finds out about *address*.

        Args:
            address: Of this world, or of none.
            verifier: Its name.
            unknown: The share of addresses that it cannot tell of.
            refused: Servers that refuse us refuse it, too: it asks from the same machine.
        """
        local, _, domain = address.casefold().rpartition("@")
        mail = self._domains.get(domain)
        if mail is None or mail.mx == "null":
            return "no-mail"
        if mail.dns != "answers" or drawn(self._seed, verifier, "unknown", address) < unknown:
            return "no-answer"
        behaviour = _behaviour(mail)
        match behaviour:
            case CatchAll():
                return "accepts-all"
            case Down() | Silent() | Busy() | Greylisting(then="silent"):
                return "no-answer"
            case Slow(delay_s=delay_s) if delay_s > _TOO_SLOW_S:
                return "no-answer"
            case RefusesUs() if refused:
                return "no-answer"
            case _:
                state = self._states[domain].get(local, "absent")
                return _of_state(state, behaviour, refused=refused)

    def greylists(self, address: str) -> bool:
        mail = self._domains.get(address.rpartition("@")[2])
        return mail is not None and isinstance(_behaviour(mail), Greylisting)


def _behaviour(mail: WorldMailDomain) -> Behaviour:
    """Return how the first exchanger that answers behaves."""
    hosts = sorted(mail.hosts, key=lambda host: host.preference)
    each = [host.behaviour or mail.behaviour for host in hosts] or [mail.behaviour]
    return next((behaviour for behaviour in each if not isinstance(behaviour, Down)), each[0])


def _of_state(state: MailboxState, behaviour: Behaviour, *, refused: bool) -> AddressState:
    match state:
        case "open" if isinstance(behaviour, Full):
            return "full"
        case "open" if isinstance(behaviour, Disabled):
            return "disabled"
        case "open":
            return "exists"
        case "absent":
            return "absent"
        case "full" | "over_quota":
            return "full"
        case "disabled":
            return "disabled"
        case "refuses_us":
            return "no-answer" if refused else "exists"
        case "too_fast":
            return "no-answer"
