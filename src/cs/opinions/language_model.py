"""An operator's own language model, behind the chat completions that OpenAI has.

``POST {url}/chat/completions``; vLLM, llama.cpp, Ollama, LM Studio and others take the same.
One call for all headlines of a lookup, made once, within the operator's caps.  Whatever is no
answer as it was asked for (another shape, a number twice, a web page, nothing) is no opinion,
on any of them.
"""

from collections.abc import Sequence

import msgspec

from cs.domain.contact import Opinion
from cs.domain.opinions import PROMPT, SOURCE
from cs.opinions.port import AT_ONCE, UnsureHeadline
from cs.opinions.prompt import OpinionsOnAll, body
from cs.paid_calls.problems import ProblemKind, ServiceProblem, problem, read_answer
from cs.paid_calls.service import PaidService, Question, ServiceCheck

NAME = SOURCE
#: How long nobody asks after it was away: searches would wait for it one after the other.
AWAY_PAUSE_S = 60.0


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: tuple[_Choice, ...]


class LanguageModel:
    """Asks *model* through *service*."""

    name = NAME

    def __init__(self, service: PaidService, model: str) -> None:
        self._service = service
        self._model = model

    async def of(self, headlines: Sequence[UnsureHeadline]) -> Sequence[Opinion]:
        """Return an opinion on each of *headlines* that the model has one on.

        Raises:
            ServiceProblem: It has none on any.
        """
        asked = headlines[:AT_ONCE]
        completion = await self._service.ask(
            _question(self._model, [each.text for each in asked]), _Completion
        )
        return [
            Opinion(
                person=asked[said.n - 1].person,
                doubts=asked[said.n - 1].doubts,
                family=said.family,
                level=said.level,
                title=said.title,
                company=said.company,
                model=self._model,
                prompt=PROMPT,
            )
            for said in _opinions(completion, len(asked)).opinions
        ]

    async def check(self) -> ServiceCheck:
        """Ask about one headline that is nobody's."""
        question = _question(self._model, ["Brand Manager at Acme"])
        return await self._service.check(question, needs_key=False)


def _question(model: str, headlines: Sequence[str]) -> Question:
    return Question(path="/chat/completions", json=body(model, headlines))


def _opinions(completion: _Completion, asked: int) -> OpinionsOnAll:
    if not completion.choices or completion.choices[0].message.content is None:
        raise _nonsense("answers without a word")
    content = completion.choices[0].message.content
    found = read_answer(NAME, content.encode(errors="replace"), OpinionsOnAll)
    numbers = [said.n for said in found.opinions]
    if len(set(numbers)) < len(numbers) or not all(1 <= n <= asked for n in numbers):
        raise _nonsense("numbers headlines otherwise than it was asked")
    return found


def _nonsense(what: str) -> ServiceProblem:
    return problem(ProblemKind.WRONG_SHAPE, f"{NAME} {what}")
