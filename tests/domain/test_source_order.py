"""Whom to ask first, as a rule: free before paid, then the cheapest verified e-mail."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.source_cost import SourceFigures
from cs.domain.source_order import PRIORS, PricedSource, expected_micros, in_order
from cs.domain.stages.work import StageName

names = st.sampled_from("abcdefgh")
stages: st.SearchStrategy[StageName] = st.sampled_from(["verification", "contact-discovery"])
counts = st.integers(0, 10_000)
prices = st.sampled_from([0, 1, 500, 4_000, 8_000, 20_000, 1_000_000])


@dataclass(frozen=True)
class Askable:
    """Somebody who may be asked, and what the log says of them."""

    name: str
    price: int
    figures: SourceFigures


@st.composite
def askables(draw: st.DrawFn) -> tuple[StageName, list[Askable]]:
    stage = draw(stages)
    found = [
        Askable(
            name,
            draw(prices),
            SourceFigures(
                stage=stage, name=name, micros=1_000 * draw(counts), verified=draw(counts)
            ),
        )
        for name in draw(st.lists(names, unique=True, max_size=6))
    ]
    return stage, found


def ordered(
    stage: StageName, found: list[Askable], first: tuple[str, ...] = ()
) -> list[Askable]:
    priced = [PricedSource(each.name, each.price, each) for each in found]
    figures = [each.figures for each in found]
    return [place.who for place in in_order(stage, priced, figures, first=first)]


def costs(stage: StageName, each: Askable) -> int:
    return expected_micros(each.price, each.figures, PRIORS[stage])


@given(askables(), st.lists(names, unique=True))
def test_everybody_is_asked_once_and_what_is_free_comes_first(
    told: tuple[StageName, list[Askable]], first: list[str]
) -> None:
    stage, found = told
    order = ordered(stage, found, tuple(first))

    assert sorted(each.name for each in order) == sorted(each.name for each in found)
    paid = [each.price > 0 for each in order]
    assert paid == sorted(paid)


@given(askables())
def test_the_cheaper_source_per_verified_email_comes_first(
    told: tuple[StageName, list[Askable]],
) -> None:
    stage, found = told
    paid = [each for each in ordered(stage, found) if each.price > 0]

    expected = [costs(stage, each) for each in paid]
    assert expected == sorted(expected)
    assert [each for each in ordered(stage, found) if each.price == 0] == [
        each for each in found if each.price == 0
    ]


@given(askables(), st.lists(names, unique=True))
def test_the_operators_order_wins(
    told: tuple[StageName, list[Askable]], first: list[str]
) -> None:
    stage, found = told
    paid = [each.name for each in ordered(stage, found, tuple(first)) if each.price > 0]

    named = [name for name in first if name in paid]
    assert paid[: len(named)] == named


@given(stages, prices.filter(bool), counts, counts, st.integers(1, 1_000))
def test_more_verified_is_cheaper_and_more_money_is_dearer(
    stage: StageName, price: int, spent: int, verified: int, more: int
) -> None:
    prior = PRIORS[stage]

    def expected(micros: int, people: int) -> int:
        figures = SourceFigures(stage=stage, name="a", micros=micros, verified=people)
        return expected_micros(price, figures, prior)

    assert expected(spent, verified + more) <= expected(spent, verified)
    assert expected(spent + more, verified) >= expected(spent, verified)


@given(stages, prices.filter(bool))
def test_with_nothing_in_the_log_it_is_the_price_by_the_stated_yield(
    stage: StageName, price: int
) -> None:
    stated = round(price / PRIORS[stage].verified_each)

    assert abs(expected_micros(price, None, PRIORS[stage]) - stated) <= 1


def test_with_a_long_log_it_is_what_the_log_says() -> None:
    figures = SourceFigures(
        stage="verification", name="a", asked=1_000_000, micros=8_000_000_000, verified=100_000
    )

    found = expected_micros(1, figures, PRIORS["verification"])

    assert abs(found - 80_000) < 8


def test_figures_of_another_stage_say_nothing() -> None:
    """Hunter has one account and two uses."""
    dear = SourceFigures(stage="contact-discovery", name="hunter", micros=10**9)
    priced = [PricedSource("hunter", 4_000, None), PricedSource("kickbox", 8_000, None)]

    order = in_order("verification", priced, [dear])

    assert [place.name for place in order] == ["hunter", "kickbox"]
