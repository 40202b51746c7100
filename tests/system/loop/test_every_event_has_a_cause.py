"""No event without a cause, whatever it is that a service and its operator do."""

import asyncio

import pytest

from cs.domain.causation import RequestCause
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchAdmitted
from harness.outside import ADA, tools
from operations.erasure.service import erasable

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


@pytest.mark.slow
async def test_events_of_searches_and_of_the_operator_have_a_cause() -> None:
    async with erasable(tools()) as service:
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
        await service.erasure.erase_profile(ADA.linkedin_url or "")
        (one,) = await service.erasure.suppressed()
        await service.erasure.lift([one.id])
        await service.acting("ada").disclose(
            "events show", "Ticket 4711 of today", DisclosedEvents(), upto=1
        )
        events = await service.recorded()

    assert [a.status_code for a in (*joined, reused, unknown)] == [200] * 4
    assert [e.position for e in events if e.caused_by is None] == []
    led_to: dict[str, set[str]] = {}
    for e in events:
        led_to.setdefault(type(e.caused_by).__name__, set()).add(type(e.event).__name__)
    assert led_to == {cause: set(kinds.split()) for cause, kinds in LED_TO.items()}
    requests = {e.event.request for e in events if isinstance(e.event, SearchAdmitted)}
    of_causes = {e.caused_by.id for e in events if isinstance(e.caused_by, RequestCause)}
    assert of_causes == requests, "a request's id in the event is that of its cause"
