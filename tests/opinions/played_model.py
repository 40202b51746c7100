"""A language model on a server of the test's, and the ranking that asks it."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from cs.assembly.plugins import second_opinion
from cs.domain.contact import BrandFacts, Person
from cs.domain.stages.limits import check_outcome
from cs.domain.stages.work import Outcome, RankingDone, RankingInput, Work
from cs.opinions.language_model import LanguageModel
from cs.paid_calls.current_work import set_current_lookup
from cs.paid_calls.register import PaidCalls
from cs.pipeline.ranking import Ranking
from cs.settings import load
from harness.clients import trusted_client
from harness.places import budgets_in, calls_in
from outside.loopback_web import Web, WebRequest, reply, serve

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
KEY = "k3y-of-ours"
LOOKUP = "brand-0a1b.1"
NO_CAPS: Mapping[str, str] = {}
ACME = BrandFacts(name="Acme")
CLEAR = Person(
    person="p1", full_name="Ada Kern", headline="Head of Influencer Marketing at Acme"
)
UNSURE = Person(
    person="p2",
    full_name="Jo Lane",
    headline="Jo Lane | Zorbification Manager at Acme, linkedin.com/in/jo-lane",
    linkedin_url="https://www.linkedin.com/in/jo-lane",
)
SAID = {
    "family": "social",
    "level": "manager",
    "title": "Zorbification Manager",
    "company": "Acme",
}


def completion(content: object) -> bytes:
    """Return a whole answer, of the fields that such services send."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    message = {"role": "assistant", "content": text, "refusal": None}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_795_000_000,
            "model": "small-model-2026",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440},
        }
    ).encode()


def saying(**otherwise: object) -> bytes:
    """Return an answer on the one headline, some of its fields *otherwise*."""
    return completion({**SAID, **otherwise})


GOOD = saying()
Answer = tuple[int, bytes]


class Model:
    """A model on a server: *answer* is what it says next; ``None``: nothing, ever."""

    def __init__(self) -> None:
        self.answer: Answer | None = (200, GOOD)
        self.over = asyncio.Event()
        self.budgets = budgets_in(None)
        self.web: Web
        self.asked: LanguageModel

    async def respond(self, _: WebRequest, writer: asyncio.StreamWriter) -> None:
        if self.answer is None:
            await self.over.wait()
        else:
            status, body = self.answer
            reply(writer, body, status=status)

    @property
    def calls(self) -> int:
        return len(self.web.asked)

    async def rank(self, *people: Person, lookup: str = LOOKUP) -> RankingDone:
        work = Work(
            lookup=lookup,
            stage="ranking",
            attempt=1,
            deadline_at=NOW,
            input=RankingInput(brand=ACME, people=people or (CLEAR, UNSURE)),
        )

        async def report(finding: object) -> None:
            raise AssertionError(finding)

        with set_current_lookup(lookup):
            done = await Ranking(second_opinion=self.asked).handle(work, report)
        assert isinstance(done, RankingDone)
        check_outcome(Outcome(lookup=lookup, stage="ranking", attempt=1, finding=done))
        return done


@asynccontextmanager
async def model(
    *, total_s: float = 5.0, caps: Mapping[str, str] = NO_CAPS
) -> AsyncIterator[Model]:
    running = Model()
    async with (
        serve(running.respond) as web,
        trusted_client(total_s=total_s) as client,
    ):
        running.web = web
        environment = {
            "CS_OPINION_URL": f"{web.url}/v1/",
            "CS_OPINION_MODEL": "small-model",
            "CS_OPINION_KEY": KEY,
            "CS_OPINION_CALLS_PER_S": "1000",
            **caps,
        }
        made = second_opinion(
            load(environment=environment),
            client,
            paid=PaidCalls(calls_in(None)),
            budgets=running.budgets,
            world="live",
            now=lambda: NOW,
        )
        assert made is not None
        running.asked = made
        yield running
        running.over.set()
