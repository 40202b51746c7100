"""The AsyncAPI document with its examples, made from stored events of every shape.

``PYTHONPATH=src:tests:dev/asyncapi python -m bus.asyncapi.asyncapi_document`` writes it to
its place.
"""

import asyncio
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from topics_document import document

import cs.bus
from cs.bus.headers import event_headers, outcome_headers, work_headers
from cs.bus.topics import PublicEvent
from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsRanked,
    MailboxVerified,
    MailDomainChecked,
    PeopleFound,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import Person, Sighting
from cs.domain.stages.table import OWN_STAGES
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    Discovered,
    DomainVerified,
    Failed,
    MailboxChecked,
    Outcome,
    PeopleSeen,
    RankingDone,
    Resolved,
    StageName,
    Work,
)
from cs.eventlog.port import NO_STREAM, Append
from domain.golden_files import NAMES, golden, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

COMMITTED = Path(cs.bus.__file__).with_name("asyncapi.json")
#: In the place of sealed bytes, which are others every time.
BOX = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

#: In the place of ids of keys, which are random.
KEY_ID = "8c1f0d5e2a7b9463"

#: Of these events, a cause of each kind; the others are as an older version stored them.
CAUSES: dict[str, AnyCause] = {
    "key.search-admitted.v1": RequestCause(
        id="req_k7f2m9qd3x1v8c5n0w4t6y2z9b", key="key_1a2sdmshac6d36r3"
    ),
    "brand.resolved.v1": MessageCause(
        topic="cs.outcomes.v1",
        id="brand-5f0c1e2d3a4b5c6d7e8f90a1b2c3d4e5.1/brand-resolution//1/resolved",
        attempt=1,
    ),
    "brand.stage-issued.v1+receipt": TimerCause(timer="retry"),
    "service.paused.v1+by": OperatorCause(command="pause", who="ada"),
    "key.search-settled.v1": EventCause(position=24),
    "service.world-chosen.v1": StartCause(),
}

E = TypeVar("E", bound=AnyEvent)


def described() -> bytes:
    """Return the document as it is to be committed."""
    examples = {**work_examples(), "outcome": outcome_examples(), **event_examples()}
    return msgspec.json.format(msgspec.json.encode(document(examples)), indent=1) + b"\n"


def works() -> dict[StageName, Work]:
    """Return work for each stage, as the relay makes it."""
    names = [name for name in NAMES if golden(name).topic == "brand.stage-issued.v1"]
    issued = [_event(name, StageIssued) for name in names]
    found = {
        event.stage: Work(
            lookup=event.lookup,
            stage=event.stage,
            item=event.item,
            attempt=event.attempt,
            deadline_at=event.deadline_at,
            input=event.input,
        )
        for event in issued
    }
    return {stage: found[stage] for stage in OWN_STAGES}


def answers() -> list[tuple[Work, Outcome]]:
    """Return an outcome of every kind, each with the work it answers."""
    return [
        (
            work,
            Outcome(
                lookup=work.lookup,
                stage=work.stage,
                item=work.item,
                attempt=work.attempt,
                finding=finding,
            ),
        )
        for stage, work in works().items()
        for finding in _findings()[stage]
    ]


def work_examples() -> dict[str, list[dict[str, Any]]]:
    return {
        f"{stage}-work": [_example(work_headers(work), work)] for stage, work in works().items()
    }


def outcome_examples() -> list[dict[str, Any]]:
    found = []
    for work, outcome in answers():
        at = golden_event("brand.mailbox-verified.v1").at
        headers = outcome_headers(outcome, work, work_headers(work), at=at)
        found.append(_example(headers, outcome))
    return found


def event_examples() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in asyncio.run(_published()):
        found.setdefault(event.topic, []).append(_example(event_headers(event), event))
    return found


async def _published() -> list[PublicEvent]:
    log = MemoryEventLog(MemoryKeyStore())
    for name in NAMES:
        event = golden_event(name)
        stream = getattr(event, "lookup", name.partition(".")[0] + "-5f0c").partition(".")[0]
        version = len(await log.read(stream)) - 1
        expected = NO_STREAM if version < 0 else version
        await log.append([Append(stream, expected, [event], CAUSES.get(name))])
    return [
        PublicEvent(
            position=row.position,
            stream=row.stream,
            version=row.version,
            topic=row.topic,
            state=msgspec.Raw(_steady(row.state)),
        )
        for row in await log.stored(0)
    ]


def _steady(state: bytes) -> bytes:
    """Return the stored event *state* with what is random in it replaced."""
    state = re.sub(rb'(?<="box":")[^"]*', BOX.encode(), state)
    return re.sub(
        rb'"sealed_with":\{[^}]*\}',
        lambda ids: re.sub(rb'(?<=:")[^"]*', KEY_ID.encode(), ids[0]),
        state,
    )


def _findings() -> dict[StageName, list[AnyFinding]]:
    resolved = _event("brand.resolved.v1", BrandResolved)
    found = _event("brand.people-found.v1", PeopleFound)
    ranked = _event("brand.contacts-ranked.v1", ContactsRanked)
    verified = _event("brand.mailbox-verified.v1", MailboxVerified)
    checked = _event("brand.mail-domain-checked.v1", MailDomainChecked)
    failed = _event("brand.attempt-failed.v1", AttemptFailed)
    people = tuple(_sighting(person) for person in found.people)
    return {
        "brand-resolution": [
            Alive(),
            Resolved(status="matched", brand=resolved.brand, sources=resolved.sources),
        ],
        "contact-discovery": [
            PeopleSeen(people=people),
            Discovered(people=people, sources={"searxng": "used"}),
        ],
        "ranking": [RankingDone(ranked=ranked.ranked, left_out=ranked.left_out)],
        "verification": [
            MailboxChecked(checked=verified.checked),
            DomainVerified(checked=(verified.checked,), learned=checked.learned),
            Failed(why=failed.why, retryable=True, retry_in_s=300.0, learned=checked.learned),
        ],
    }


def _sighting(person: Person) -> Sighting:
    return Sighting(
        full_name=person.full_name,
        first_name=person.first_name,
        last_name=person.last_name,
        headline=person.headline,
        company=person.company,
        linkedin_url=person.linkedin_url,
        location=person.location,
        addresses=person.addresses,
        source=person.sources[0],
    )


def _event(name: str, kind: type[E]) -> E:
    event = golden_event(name)
    assert isinstance(event, kind)
    return event


def _example(headers: dict[str, str], message: Work | Outcome | PublicEvent) -> dict[str, Any]:
    payload = msgspec.json.decode(msgspec.json.encode(message))
    return {"headers": headers, "payload": payload}


if __name__ == "__main__":
    COMMITTED.write_bytes(described())
