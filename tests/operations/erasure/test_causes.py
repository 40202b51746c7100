"""An erasure names what led to it: an operator's command, a mailbox that was found, or time."""

from datetime import UTC, datetime, timedelta

from cs.domain.brand.events import ContactsErased
from cs.domain.causation import (
    AnyCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    TimerCause,
)
from cs.domain.key import SearchAdmitted
from cs.domain.person import PersonErased, PersonSuppressed, SuppressionLifted
from cs.history.causes import explain
from harness.manual_clock import ManualClock
from harness.outside import ADA, BEN
from operations.erasure.service import (
    ADA_MAILBOX,
    ADA_PROFILE,
    Erasable,
    at_zenith,
    erasable,
    outside,
)

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
ERASURE = (PersonErased, PersonSuppressed, ContactsErased, SuppressionLifted)


async def causes(service: Erasable) -> set[AnyCause | None]:
    return {each.caused_by for each in await service.recorded(*ERASURE)}


async def test_who_is_erased_because_a_mailbox_was_found_leads_back_to_that_call() -> None:
    tools = outside(zenith=(at_zenith(ADA), at_zenith(BEN)))
    async with erasable(tools) as service:
        key = await service.new_key()
        await service.search(key, brand="Zenith")
        await service.erasure.erase_mailbox(ADA_MAILBOX)

        await service.search(key, brand="Acme")

        erased = [
            each
            for each in await service.recorded(*ERASURE)
            if isinstance(each.caused_by, MessageCause)
        ]
        assert {type(each.event) for each in erased} == {
            PersonSuppressed,
            ContactsErased,
            PersonErased,
        }
        assert len({each.stream for each in erased}) == 3, "the person, Acme and Zenith"
        _, acme = await service.recorded(SearchAdmitted)
        assert isinstance(acme.event, SearchAdmitted)
        for each in erased:
            why = await explain(service.log, each.position)
            assert why is not None
            origin = why.before[0]
            assert origin.position == acme.position
            assert origin.caused_by == RequestCause(id=acme.event.request or "", key=key.id)
            forward = await explain(service.log, origin.position)
            assert forward is not None
            assert each.position in {event.position for event in forward.after}


async def test_an_operators_erasure_names_the_command() -> None:
    async with erasable(outside()) as service:
        await service.search(await service.new_key(), brand="Acme")

        await service.erasure.erase_profile(ADA_PROFILE)
        assert await causes(service) == {OperatorCause(command="people erase")}

        (one,) = await service.erasure.suppressed()
        await service.erasure.lift([one.id])
        (lifted,) = await service.recorded(SuppressionLifted)
        assert lifted.caused_by == OperatorCause(command="people suppressed --lift")


async def test_who_ages_out_does_so_because_it_was_time() -> None:
    clock = ManualClock(AT)
    async with erasable(outside(), clock=clock) as service:
        await service.search(await service.new_key(), brand="Acme")
        clock.set(AT + timedelta(days=7 * 31))

        await service.retention(6).round()

        assert await causes(service) == {TimerCause(timer="ageing")}
        (erased,) = await service.recorded(ContactsErased)
        why = await explain(service.log, erased.position)
        assert why is not None
        assert (why.before, why.after) == ([], [])
