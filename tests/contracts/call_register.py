"""What every register of paid calls does, wherever it keeps them."""

import asyncio
from abc import abstractmethod
from typing import ClassVar

import pytest

from cs.paid_calls.port import (
    CallInFlight,
    CallLease,
    CallRegister,
    KnownAnswer,
    LostAnswer,
    PaidCall,
)

CALL = PaidCall("brand-a.1", "acme", b'{"q":"Ada Kern"}')


class CallRegisterContract:
    """Inherit, and give a fixture ``calls``, an empty register, and `an_hour_later`."""

    others: ClassVar = {
        "lookup": PaidCall("brand-a.2", CALL.provider, CALL.request),
        "provider": PaidCall(CALL.lookup, "other", CALL.request),
        "request": PaidCall(CALL.lookup, CALL.provider, b'{"q":"Ada"}'),
    }

    @abstractmethod
    async def an_hour_later(self, calls: CallRegister) -> None:
        """Make what *calls* knows older than it is remembered."""

    async def test_who_comes_first_holds_the_lease_and_others_hear_how_long(
        self, calls: CallRegister
    ) -> None:
        first = await begin(calls)
        second = await begin(calls)
        third = await begin(calls, again=True)

        assert isinstance(first, CallLease)
        for other in (second, third):
            assert isinstance(other, CallInFlight)
            assert 0 < other.left_s <= 60

    async def test_one_of_many_at_once_begins(self, calls: CallRegister) -> None:
        found = await asyncio.gather(*(begin(calls, again=n % 2 == 0) for n in range(20)))

        assert sum(isinstance(each, CallLease) for each in found) == 1

    async def test_an_answer_is_remembered_for_everybody(self, calls: CallRegister) -> None:
        await answered(calls, b"\x00 said")

        assert await begin(calls) == KnownAnswer(b"\x00 said")
        assert await begin(calls, again=True) == KnownAnswer(b"\x00 said")

    async def test_an_empty_answer_is_an_answer(self, calls: CallRegister) -> None:
        await answered(calls, b"")

        assert await begin(calls) == KnownAnswer(b"")

    @pytest.mark.parametrize("differing", ["lookup", "provider", "request"])
    async def test_another_question_is_another_call(
        self, calls: CallRegister, differing: str
    ) -> None:
        begun = await answered(calls, b"said")

        other = await begin(calls, self.others[differing])

        assert isinstance(other, CallLease)
        assert other.idempotency_key != begun.idempotency_key

    async def test_a_call_whose_lease_is_over_is_lost(self, calls: CallRegister) -> None:
        await begin(calls, lease_s=0)

        assert await begin(calls) == LostAnswer()
        assert await begin(calls) == LostAnswer()

    async def test_a_lost_call_begins_again_with_its_key_for_who_may_repeat_it(
        self, calls: CallRegister
    ) -> None:
        first = await begin(calls, lease_s=0)

        second = await begin(calls, again=True)

        assert isinstance(first, CallLease)
        assert isinstance(second, CallLease)
        assert first.idempotency_key == second.idempotency_key
        assert set(first.idempotency_key) <= set("0123456789abcdef")
        assert len(first.idempotency_key) == 32
        assert first.holder != second.holder
        assert isinstance(await begin(calls, again=True), CallInFlight)

    async def test_an_answer_after_the_lease_counts_and_the_first_one_stays(
        self, calls: CallRegister
    ) -> None:
        late = await begin(calls, lease_s=0)
        again = await begin(calls, again=True)
        assert isinstance(late, CallLease)
        assert isinstance(again, CallLease)

        await calls.answer(late, b"first")
        await calls.answer(again, b"second")

        assert await begin(calls) == KnownAnswer(b"first")

    async def test_a_lease_given_up_is_over_at_once(self, calls: CallRegister) -> None:
        begun = await begin(calls)
        assert isinstance(begun, CallLease)

        await calls.leave(begun)

        assert await begin(calls) == LostAnswer()

    async def test_a_call_that_was_not_made_may_be_begun_by_anybody(
        self, calls: CallRegister
    ) -> None:
        begun = await begin(calls)
        assert isinstance(begun, CallLease)

        await calls.undo(begun)

        assert isinstance(await begin(calls), CallLease)

    async def test_who_lost_the_lease_can_neither_give_it_up_nor_undo_the_call(
        self, calls: CallRegister
    ) -> None:
        old = await begin(calls, lease_s=0)
        assert isinstance(old, CallLease)
        await begin(calls, again=True)

        await calls.leave(old)
        await calls.undo(old)

        assert isinstance(await begin(calls), CallInFlight)

    async def test_an_answer_can_be_neither_given_up_nor_undone(
        self, calls: CallRegister
    ) -> None:
        begun = await answered(calls, b"said")

        await calls.leave(begun)
        await calls.undo(begun)

        assert await begin(calls) == KnownAnswer(b"said")

    async def test_erasing_deletes_all_calls_of_those_lookups_and_no_others(
        self, calls: CallRegister
    ) -> None:
        begun = await answered(calls, b"said")
        for other in self.others.values():
            await begin(calls, other)

        assert await calls.erase([CALL.lookup, "brand-nobody.1"]) == 3
        await calls.answer(begun, b"late")  # by a worker that knows nothing of it

        assert isinstance(await begin(calls), CallLease)
        assert isinstance(await begin(calls, self.others["lookup"]), CallInFlight)
        assert await calls.erase([]) == 0

    async def test_what_is_remembered_of_a_lookup_is_told_without_what_was_answered(
        self, calls: CallRegister
    ) -> None:
        assert await calls.remembered([CALL.lookup]) == []
        await answered(calls, b"said")
        for other in self.others.values():
            await begin(calls, other)

        first, *others = await calls.remembered([CALL.lookup, "brand-nobody.1"])

        assert (first.lookup, first.provider, first.answered) == (
            CALL.lookup,
            CALL.provider,
            True,
        )
        assert 3_500 < first.left_s <= 3_600
        assert sorted((each.provider, each.answered) for each in others) == sorted(
            (call.provider, False)
            for call in self.others.values()
            if call.lookup == CALL.lookup
        )
        assert await calls.remembered([]) == []

    async def test_calls_are_forgotten_after_an_hour(self, calls: CallRegister) -> None:
        await answered(calls, b"said")
        await begin(calls, self.others["provider"])
        assert await calls.forget_old() == 0
        await self.an_hour_later(calls)
        await begin(calls, self.others["request"])

        assert await calls.forget_old() == 2

        assert isinstance(await begin(calls), CallLease)
        assert isinstance(await begin(calls, self.others["request"]), CallInFlight)


async def begin(
    calls: CallRegister, call: PaidCall = CALL, *, lease_s: float = 60, again: bool = False
) -> object:
    return await calls.begin(call, lease_s=lease_s, again=again)


async def answered(calls: CallRegister, answer: bytes) -> CallLease:
    begun = await begin(calls)
    assert isinstance(begun, CallLease)
    await calls.answer(begun, answer)
    return begun
