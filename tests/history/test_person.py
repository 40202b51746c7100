"""Everything held on a person, held against a plain reading of who was found and answered."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.events import LookupFinished
from cs.domain.contact import Contact, Query
from cs.domain.key import KeyEvent, KeyIssued, SearchAdmitted, SearchSettled
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.history.identities import identities
from cs.history.person import held_on
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.people import (
    AT,
    HISTORIES,
    PastLookup,
    Seen,
    names_of,
    same_person,
    store,
)

ANSWERED_AT = AT + timedelta(days=40)
#: By place in the history: who is shown (``p1``), and which keys searched.
ENDS = st.lists(
    st.tuples(
        st.sets(st.sampled_from(["p1", "p2"])), st.lists(st.sampled_from("ab"), max_size=2)
    ),
    min_size=5,
    max_size=5,
)
End = tuple[set[str], list[str]]


def lookups_of(history: Sequence[PastLookup]) -> list[str]:
    return [n.rpartition("#")[0] for n, _ in names_of(history) if n.endswith("#p1")]


async def finish(log: EventLog, history: Sequence[PastLookup], ends: Sequence[End]) -> None:
    """End the lookups of *history*, and answer searches with what they found."""
    on_keys: dict[str, list[KeyEvent]] = {
        key: [KeyIssued(at=AT, label=f"of {key}", quota=9, secret_hash="x", last4="1234")]
        for key in "ab"
    }
    for n, (lookup, found, (shown, keys)) in enumerate(
        zip(lookups_of(history), history, ends, strict=False)
    ):
        stream = lookup.rpartition(".")[0]
        last = (await log.read(stream))[-1].version
        contacts = tuple(contact(p, found.people[int(p[1]) - 1]) for p in sorted(shown))
        end = LookupFinished(
            at=AT + timedelta(days=30),
            lookup=lookup,
            outcome="no_emails",
            reusable=False,
            verified=0,
            contacts=contacts,
        )
        await log.append([Append(stream, last, [end])])
        for m, key in enumerate(keys):
            search = f"srch_{n}{m}"
            on_keys[key] += [
                SearchAdmitted(
                    at=AT,
                    search=search,
                    brand=found.brand,
                    query=Query(brand=found.brand),
                    lookup=lookup,
                ),
                SearchSettled(
                    at=ANSWERED_AT,
                    search=search,
                    lookup=lookup,
                    outcome="no_emails",
                    charged=False,
                    cached=m > 0,
                ),
            ]
    for key, events in on_keys.items():
        await log.append([Append(f"key-key_{key}", NO_STREAM, events)])


def contact(person: str, seen: Seen) -> Contact:
    return Contact(
        person=person,
        full_name=seen.full_name,
        first_name=None,
        last_name=None,
        title="Head of Social",
        headline=None,
        company=seen.company,
        email=None,
        email_status="not_found",
        email_source=None,
        linkedin_url=seen.profile,
    )


@given(HISTORIES, ENDS)
async def test_it_is_all_that_was_found_and_answered_and_of_nobody_else(
    history: list[PastLookup], ends: list[End]
) -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    await store(log, history)
    await finish(log, history, ends)
    by_lookup = dict(zip(lookups_of(history), zip(history, ends, strict=False), strict=True))
    seen_as = dict(names_of(history))

    for group in same_person(history):
        async with identities(log, keys) as people:
            (who,) = set((await people.of(group)).values())
            names = await people.records_of(who)
        held = await held_on(log, keys, names)

        assert {r.name for r in held.records} == group
        for record in held.records:
            seen = seen_as[record.name]
            found, (shown, answered) = by_lookup[record.lookup]
            assert (record.person.found.full_name, record.person.found.linkedin_url) == (
                seen.full_name,
                seen.profile,
            )
            assert [c.checked.address for c in record.person.checks] == (
                [seen.mailbox] if seen.mailbox else []
            )
            assert (record.contact is not None) == (record.person.person in shown)
            expected = answered if record.person.person in shown else []
            assert [s.key for s in record.answered] == [f"key_{k}" for k in sorted(expected)]
            assert {s.key_label for s in record.answered} == {f"of {k}" for k in expected}
            assert {s.brand for s in record.answered} <= {found.brand}
            last = ANSWERED_AT if answered else AT + timedelta(days=30)
            assert record.last_returned_at == last
            due = record.forgotten_at(timedelta(days=62))
            assert due is not None
            assert timedelta(days=62) < due - last <= timedelta(days=63)
