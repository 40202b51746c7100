"""A language model on a real server: what is sent, what counts, and every way it may fail."""

import json
from typing import Any

import pytest

from cs.domain.contact import Opinion, Person
from cs.domain.opinions import PROMPT
from cs.domain.ranking import rank
from opinions.played_model import (
    ACME,
    CLEAR,
    GOOD,
    KEY,
    SAID,
    UNSURE,
    Answer,
    completion,
    model,
    saying,
)

PRICED = {"CS_OPINION_USD_PER_CALL": "0.01"}
#: Headlines of one search that are asked about.
AT_ONCE = 20


def by_the_rules(*people: Person) -> Any:
    return rank(ACME, people)


async def test_an_opinion_counts_and_is_kept_as_evidence() -> None:
    async with model() as asked:
        done = await asked.rank()

    assert [each.person for each in done.ranked] == ["p1", "p2"]
    assert done.ranked[1].title == "Zorbification Manager"
    assert done.opinions == (
        Opinion(
            person="p2",
            doubts=("no-family",),
            family="social",
            level="manager",
            title="Zorbification Manager",
            company="Acme",
            model="small-model",
            prompt=PROMPT,
        ),
    )
    assert done.causes == {}


async def test_only_unsure_headlines_are_sent_and_no_name() -> None:
    async with model() as asked:
        await asked.rank()
        (sent,) = asked.web.asked

    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == f"bearer {KEY}"  # the server folds its case
    body = json.loads(sent.body)
    assert body["model"] == "small-model"
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["strict"] is True
    (_, question) = body["messages"]
    assert json.loads(question["content"]) == {
        "headline": "[...] | Zorbification Manager at Acme, [...]"
    }
    for name in ("Jo", "Lane", "jo-lane", "Ada", "Kern"):
        assert name not in sent.body.decode()


async def test_clear_headlines_cost_no_call() -> None:
    async with model() as asked:
        done = await asked.rank(CLEAR)
        assert asked.calls == 0
    assert (done.ranked, done.left_out, done.opinions) == (*by_the_rules(CLEAR), ())


async def test_each_headline_is_a_call_of_its_own_made_once_for_a_lookup() -> None:
    many = tuple(
        Person(
            person=f"p{n}", full_name=f"Jo {n}", headline=f"Zorbification{n} Manager at Acme"
        )
        for n in range(1, AT_ONCE + 6)
    )
    async with model() as asked:
        first = await asked.rank(*many)
        again = await asked.rank(*many)
        assert asked.calls == AT_ONCE
        sent = {json.loads(each.body)["messages"][1]["content"] for each in asked.web.asked}
    assert len(sent) == len(first.opinions) == AT_ONCE
    assert first == again


#: What is no opinion: an answer, and what the cause of it is reported as.
NO_OPINION: list[tuple[str, Answer, str]] = [
    ("no whole JSON", (200, GOOD[:90]), "not-json"),
    ("a web page", (200, b"<html>Log in</html>"), "not-json"),
    ("nothing", (200, b""), "not-json"),
    ("another shape", (200, b'{"choices": {"a": 1}}'), "wrong-shape"),
    ("an error inside", (200, b'{"error": {"message": "overloaded"}}'), "wrong-shape"),
    ("no choice", (200, b'{"choices": []}'), "wrong-shape"),
    ("a refusal", (200, completion(None)), "wrong-shape"),
    ("prose", (200, completion("Sure! Here is what I think.")), "not-json"),
    ("JSON in prose", (200, completion("```json\n{}\n```")), "not-json"),
    ("cut off", (200, completion('{"family": "soc')), "not-json"),
    ("a list", (200, completion([SAID])), "wrong-shape"),
    ("no such family", (200, saying(family="x")), "wrong-shape"),
    ("no such level", (200, saying(level=7)), "wrong-shape"),
    ("a field more", (200, saying(why="x")), "wrong-shape"),
    ("a field less", (200, completion({"family": "social"})), "wrong-shape"),
    ("too long", (200, saying(title="x" * 1001)), "wrong-shape"),
    ("of several", (200, completion({"opinions": [SAID, SAID]})), "wrong-shape"),
    ("nested", (200, completion("[" * 100_000)), "wrong-shape"),
    ("a bad key", (401, b"{}"), "key-refused"),
    ("no credits", (402, b"{}"), "no-credits"),
    ("no such model", (404, b"{}"), "nothing"),
    ("too many", (429, b"{}"), "rate-limited"),
    ("a bad question", (400, b"{}"), "bad-question"),
    ("out of order", (500, b"oops"), "out-of-order"),
]


@pytest.mark.slow
async def test_what_is_no_opinion_leaves_the_rules_alone_and_is_reported() -> None:
    wrong = []
    async with model() as asked:
        for number, (name, answer, cause) in enumerate(NO_OPINION, 1):
            asked.answer = answer
            await asked.budgets.resume("opinion")
            done = await asked.rank(lookup=f"brand-a.{number}")
            expected = (*by_the_rules(CLEAR, UNSURE), (), {"opinion": cause})
            if (done.ranked, done.left_out, done.opinions, done.causes) != expected:
                wrong.append((name, done))
        assert asked.calls == len(NO_OPINION)
    assert wrong == []


async def test_a_silent_model_is_not_waited_for_by_each_search() -> None:
    async with model(total_s=1) as asked:
        asked.answer = None
        first = await asked.rank(lookup="brand-a.1")
        second = await asked.rank(lookup="brand-a.2")
        assert asked.calls == 1
        asked.answer = (200, GOOD)
        await asked.budgets.resume("opinion")
        third = await asked.rank(lookup="brand-a.3")

    assert first.causes == second.causes == {"opinion": "timeout"}
    assert (first.ranked, first.left_out) == by_the_rules(CLEAR, UNSURE)
    assert len(third.opinions) == 1


async def test_one_headline_without_an_answer_leaves_the_opinions_on_others() -> None:
    other = Person(person="p3", full_name="Al Roe", headline="Gribbling Manager at Acme")
    async with model(caps={**PRICED, "CS_OPINION_USD_PER_DAY": "0.01"}) as asked:
        done = await asked.rank(CLEAR, UNSURE, other)
        assert asked.calls == 1
        (spent,) = await asked.budgets.spending()
    assert len(done.opinions) == 1
    assert done.causes == {"opinion": "over-cap"}
    assert spent.micros_today == 10_000
