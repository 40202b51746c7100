"""No event without a cause, whatever it is that a service and its operator do."""

import asyncio
from collections.abc import Iterable

import pytest

from cs.assembly.process_manager import reached_end
from cs.domain.causation import RequestCause
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchAdmitted
from cs.eventlog.port import RecordedEvent
from cs.operations.erasure import Erasure
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from harness.in_process import Service as InProcess
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ADA, tools

#: By the kind of cause, what it leads to at once.
LED_TO = {
    "RequestCause": "SearchAdmitted LookupStarted StageIssued SearchSettled",
    "MessageCause": "BrandResolved PeopleFound ContactsDiscovered ContactsRanked StageIssued "
    "MailboxVerified MailboxNotVerified MailDomainChecked LookupFinished",
    "EventCause": "SearchSettled DomainLearned",
    "OperatorCause": "KeyIssued KeyRotated KeyRevoked QuotaGranted Paused Resumed PersonErased "
    "PersonSuppressed ContactsErased SuppressionLifted DisclosureMade",
    "StartCause": "WorldChosen",
}


def without_a_cause(events: Iterable[RecordedEvent]) -> list[str]:
    return [f"{e.position} {type(e.event).__name__}" for e in events if e.caused_by is None]


async def erase_and_lift(service: InProcess, keys: MemoryKeyStore) -> None:
    """Erase a person who was found, and lift the suppression."""
    streams, clock = service.running.streams, SystemClock()
    reflected = reached_end(streams.log, service.running.views)
    erasure = Erasure(streams, keys, clock, reflected, by="ada")
    await erasure.erase_profile(ADA.linkedin_url or "")
    (one,) = await erasure.suppressed()
    await erasure.lift([one.id])


@pytest.mark.slow
async def test_events_of_searches_and_of_the_operator_have_a_cause() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    async with in_memory(tools(), log=log, keys=keys) as service:
        key, other = await service.new_key(), await service.new_key()
        joined = await asyncio.gather(
            *(service.search(who, brand="Acme") for who in (key, other))
        )
        reused = await service.search(other, brand="ACME")
        unknown = await service.search(key, brand="Nobody Knows")
        await service.operator.rotate_key(other.id)
        await service.operator.grant_quota(other.id, 3)
        await service.operator.revoke_key(other.id)
        await service.operator.pause()
        await service.operator.resume()
        await erase_and_lift(service, keys)
        disclosing = Operator(service.running.streams, SystemClock(), "ada")
        await disclosing.disclose(
            "events show", "Ticket 4711 of today", DisclosedEvents(), upto=1
        )

    assert [a.status_code for a in (*joined, reused, unknown)] == [200] * 4
    events = await log.tail(0, 10_000)
    assert without_a_cause(events) == []
    led_to: dict[str, set[str]] = {}
    for e in events:
        led_to.setdefault(type(e.caused_by).__name__, set()).add(type(e.event).__name__)
    assert led_to == {cause: set(kinds.split()) for cause, kinds in LED_TO.items()}
    requests = {e.event.request for e in events if isinstance(e.event, SearchAdmitted)}
    of_causes = {e.caused_by.id for e in events if isinstance(e.caused_by, RequestCause)}
    assert of_causes == requests, "a request's id in the event is that of its cause"
