"""How the mail servers of a world behave: one struct a behaviour, as a world file names it.

What each one answers is in `cs.sandbox.smtp`.
"""

from typing import Annotated, Literal

import msgspec

Seconds = Annotated[float, msgspec.Meta(ge=0, le=600, description="Seconds, from 0 to 600.")]

#: The reply of one mailbox to RCPT, however its domain treats the others.
MailboxState = Literal[
    "open",  # 250 2.1.5
    "absent",  # 550 5.1.1
    "full",  # 452 4.2.2
    "over_quota",  # 552 5.2.2
    "disabled",  # 550 5.2.1
    "refuses_us",  # 550 5.7.1
    "too_fast",  # 450 4.2.1
]


class _Behaviour(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    pass


class Plain(_Behaviour, frozen=True, kw_only=True, tag="plain"):
    """250 for its mailboxes and for postmaster, 550 5.1.1 for all others."""


class CatchAll(_Behaviour, frozen=True, kw_only=True, tag="catch_all"):
    """250 for every local part."""


class Greylisting(_Behaviour, frozen=True, kw_only=True, tag="greylisting"):
    """451 4.7.1 "try again in N seconds"; after N seconds as `Plain`."""

    hint_s: Seconds
    remembers: Literal["recipient", "client"] = "recipient"
    """The key that a wait belongs to: (client, sender, recipient), or the client alone."""
    then: Literal["plain", "silent"] = "plain"
    """After the wait: as `Plain`, or nothing is said any more, not even a banner."""


class RefusesUs(_Behaviour, frozen=True, kw_only=True, tag="refuses_us"):
    """5.7.1 about the client: at the banner (554), at MAIL or at RCPT (550)."""

    at: Literal["banner", "mail", "rcpt"] = "rcpt"


class Full(_Behaviour, frozen=True, kw_only=True, tag="full"):
    """As `Plain`, but each of its mailboxes is full: 452 4.2.2 or 552 5.2.2."""

    code: Literal[452, 552] = 452


class Disabled(_Behaviour, frozen=True, kw_only=True, tag="disabled"):
    """As `Plain`, but each of its mailboxes is disabled: 550 5.2.1."""


class OneRecipient(_Behaviour, frozen=True, kw_only=True, tag="one_recipient"):
    """As `Plain`, but the second RCPT of a session gets 452 4.5.3."""


class Slow(_Behaviour, frozen=True, kw_only=True, tag="slow"):
    """As `Plain`, with a wait before each reply, the banner included."""

    delay_s: Seconds


class Silent(_Behaviour, frozen=True, kw_only=True, tag="silent"):
    """Accepts the connection and says nothing."""


class StarttlsOnly(_Behaviour, frozen=True, kw_only=True, tag="starttls_only"):
    """530 5.7.0 until STARTTLS, which works; then as `Plain`."""


class Busy(_Behaviour, frozen=True, kw_only=True, tag="busy"):
    """421 4.3.2 instead of a banner."""


class Down(_Behaviour, frozen=True, kw_only=True, tag="down"):
    """The connection is refused."""


Behaviour = (
    Plain
    | CatchAll
    | Greylisting
    | RefusesUs
    | Full
    | Disabled
    | OneRecipient
    | Slow
    | Silent
    | StarttlsOnly
    | Busy
    | Down
)
