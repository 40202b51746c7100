"""What is known of mail domains, and mail that came back, as rows of facts."""

from collections.abc import Mapping

from cs.domain.brand.events import ContactBounced
from cs.domain.codec import AnyEvent
from cs.domain.contact import BouncedMailbox
from cs.domain.mail_domain import BounceReported, DomainLearned
from cs.eventlog.sealing import key_name
from cs.history.export.fact_rows import FactRows, Says, of_no_people
from cs.history.export.reading import OpenPage, ReadEvent, people_named


def _learned(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    facts = said.facts
    to.rows["learned"].append(
        (
            event.position,
            event.at,
            event.stream.removeprefix("mail-domain-"),
            facts.catch_all,
            facts.greylists,
            facts.one_recipient,
            facts.pattern,
            said.expires_at,
        )
    )


def _bounce_reported(to: FactRows, read: ReadEvent) -> None:
    event, said = read.event, read.said
    to.rows["bounce"].append(
        (
            event.position,
            event.at,
            event.stream.removeprefix("mail-domain-"),
            said.bounced_at,
            said.kind,
            said.why,
            said.status,
            said.pattern,
        )
    )


def _contact_bounced(to: FactRows, page: OpenPage, read: ReadEvent) -> None:
    event, said = read.event, read.said
    (ref,) = people_named(said.bounced)
    personal: tuple[str | None, ...] = (None, None)
    if to.reveal:
        for each in page.people(read, BouncedMailbox):
            if each.value is not None:
                personal = (each.value.address, each.value.diagnostic)
    to.rows["bounced"].append(
        (
            event.position,
            event.at,
            said.lookup,
            key_name(said.lookup, ref),
            said.bounced_at,
            said.why,
            said.status,
            said.verifier,
            said.reason,
            said.rules,
            said.verified_at,
            *personal,
        )
    )


SAYS: Mapping[type[AnyEvent], Says] = {
    DomainLearned: of_no_people(_learned),
    BounceReported: of_no_people(_bounce_reported),
    ContactBounced: _contact_bounced,
}
