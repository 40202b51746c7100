"""What a search was answered then is what the API said then: all of it, always."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.history.history import History
from cs.history.searches import key_of_search, search_at
from history.recorded_answers import (
    BRANDS,
    PEOPLE,
    InMemory,
    Lifetime,
    lived,
)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 1), st.sampled_from(BRANDS)),
        st.tuples(st.just("meanwhile"), st.integers(0, 1), st.sampled_from(BRANDS)),
        st.tuples(st.just("erase"), st.sampled_from(sorted(PEOPLE))),
        st.tuples(st.just("forget"), st.sampled_from(BRANDS)),
        st.tuples(st.just("grant"), st.integers(0, 1), st.integers(-3, 3)),
        st.tuples(st.just("step"), st.sampled_from([1, 3_600, 31 * 86_400])),
        st.tuples(st.just("restart")),
        st.tuples(st.just("answer")),
        st.tuples(st.just("age")),
    ),
    min_size=2,
    max_size=12,
)


async def do(lifetime: Lifetime, what: str, *how: object) -> None:
    match what, how:
        case "ask", (int(who), str(brand)):
            await lifetime.answer_all()
            await lifetime.ask(who, brand)
        case "meanwhile", (int(who), str(brand)):
            await lifetime.ask_meanwhile(who, brand)
        case "erase", (str(name),):
            await lifetime.erase(name)
        case "forget", (str(brand),):
            await lifetime.forget(brand)
        case "grant", (int(who), int(units)):
            await lifetime.grant(who, units)
        case "step", (int(seconds),):
            lifetime.step(seconds)
        case "restart", ():
            await lifetime.restart()
        case "age", ():
            await lifetime.age_out()
        case "answer", ():
            await lifetime.answer_all()
        case _:
            raise AssertionError(what)
    await lifetime.read_all()


@pytest.mark.slow
@settings(max_examples=settings().max_examples * 2 // 5)
@given(STEPS)
async def test_every_answer_of_any_history_is_reported_as_it_was(
    steps: list[tuple[str, object]],
) -> None:
    async with lived(InMemory()) as lifetime:
        for what, *how in steps:
            await do(lifetime, what, *how)
        await lifetime.answer_all()
        await lifetime.read_all()

        assert await lifetime.differences() == []


async def test_a_search_that_was_not_made_yet_is_none() -> None:
    async with lived(InMemory()) as lifetime:
        before = await lifetime.stores.log.head()
        await lifetime.ask(0, "Acme")
        (search,), history = lifetime.searches, History(lifetime.stores.log)
        key = await key_of_search(history, lifetime.stores.views, search)

        assert key == lifetime.keys[0].id
        assert await search_at(history, search, key, before) is None
        assert await search_at(history, search, key, before + 1) is not None
        assert await key_of_search(history, lifetime.stores.views, "srch_none") is None
