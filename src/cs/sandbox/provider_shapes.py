"""The shapes of ``providers`` in a world file: what each provider with a key knows."""

from typing import Annotated

import msgspec

Share = Annotated[float, msgspec.Meta(ge=0, le=1, description="A share, from 0 to 1.")]
Credits = Annotated[int, msgspec.Meta(ge=0, le=10**9, description="0 to 1000000000.")]


class _Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    credits: Credits = 10**9
    """How much it sells before the account is empty, in its own units."""


class SearchEngine(_Provider, frozen=True, kw_only=True):
    """A web search: which profiles it has, and how old its copies are."""

    coverage: Share = 0.8
    """Of all profiles."""
    outdated: Share = 0.1
    """Of the profiles of people who worked elsewhere before: still shown as of that time."""


class PeopleFile(_Provider, frozen=True, kw_only=True):
    """A file of people and companies."""

    coverage: Share = 0.5
    """Of all people."""
    outdated: Share = 0.5
    """Of those who worked elsewhere before: still listed there."""
    misplaced: Share = 0.02
    """Of all its people: listed at another company."""
    addresses: Share = 0.7
    """Of its people: with an address."""
    invented: Share = 0.15
    """Of its addresses: made from the name, whether there is such a mailbox or not."""
    companies: Share = 0.8
    """Of all companies."""


class MailboxService(_Provider, frozen=True, kw_only=True):
    """A verifier."""

    unknown: Share = 0.04
    """Of all addresses: it cannot tell."""


class Providers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each provider knows, drawn with the world's seed; see `cs.sandbox.providers`."""

    brave: SearchEngine = SearchEngine(coverage=0.75)
    serper: SearchEngine = SearchEngine(coverage=0.85)
    hunter: PeopleFile = PeopleFile(coverage=0.45, addresses=1.0)
    hunter_verifier: MailboxService = MailboxService()
    pdl: PeopleFile = PeopleFile(coverage=0.6, addresses=0.5)
    apollo: PeopleFile = PeopleFile(coverage=0.55)
    reacher: MailboxService = MailboxService(unknown=0.02)
    zerobounce: MailboxService = MailboxService()
    neverbounce: MailboxService = MailboxService()
    millionverifier: MailboxService = MailboxService(unknown=0.08)
    kickbox: MailboxService = MailboxService()
