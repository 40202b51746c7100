"""What a provider was paid to say of somebody is forgotten with them."""

from cs.calls.memory import MemoryCalls
from cs.calls.port import Answered, Begun, Call
from cs.clock import SystemClock
from cs.domain.brand_events import LookupStarted
from cs.erasure import Erasure
from cs.eventlog.streams import Streams
from cs.projections.runner import ViewRunner
from erasure.service import ADA_PROFILE, erasable, outside


async def test_answers_for_the_lookups_of_the_erased_are_forgotten_and_others_stay() -> None:
    async with erasable(outside()) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        (lookup,) = [
            recorded.event.lookup
            for recorded in await service.log.tail(0)
            if isinstance(recorded.event, LookupStarted)
        ]
        calls = MemoryCalls()
        theirs, others = (Call(each, "paid", b"who?") for each in (lookup, "brand-other.1"))
        for call in (theirs, others):
            begun = await calls.begin(call, lease_s=15, again=False)
            assert isinstance(begun, Begun)
            await calls.answer(begun, b"Ada")
        views = ViewRunner(service.log, service.views, service.keys)
        erasure = Erasure(
            Streams(service.log),
            service.keys,
            SystemClock(),
            views.catch_up,
            forget_calls=calls.erase,
        )

        await erasure.erase_profile(ADA_PROFILE)

        assert isinstance(await calls.begin(theirs, lease_s=15, again=False), Begun)
        assert await calls.begin(others, lease_s=15, again=False) == Answered(b"Ada")
