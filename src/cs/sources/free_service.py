"""Services that are asked without a key: one GET, and its JSON."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from cs.outside.body import parse_aside
from cs.paid_calls.problems import judge_status, of_unreachable, read_answer
from cs.plugins.sources import (
    ORDINARY,
    Fetcher,
    Forbidden,
    Judge,
    ProblemKind,
    Response,
    Unreachable,
    problem,
)

T = TypeVar("T")


class FreeService(msgspec.Struct, frozen=True):
    """A service at an address that the operator named.

    Attributes:
        name: For people.
        judge: Reads the status codes that it means in another way; it looks first.
    """

    name: str
    url: str
    fetcher: Fetcher
    now: Callable[[], datetime]
    judge: Judge = lambda _answer: ORDINARY

    async def ask(self, params: Mapping[str, str], shape: type[T]) -> T:
        """Return the JSON of the answer.

        Raises:
            ServiceProblem: There is none, or of another shape.
        """
        try:
            answer = await self.fetcher.get(self.url, params=params)
        except (Unreachable, Forbidden) as error:
            raise of_unreachable(self.name, error) from error
        judged = self.judge(answer)
        wrong = self._ordinary(answer) if judged is ORDINARY else judged
        if isinstance(wrong, Exception):
            raise wrong
        return await parse_aside(len(answer.body), read_answer, self.name, answer.body, shape)

    def _ordinary(self, answer: Response) -> Exception | None:
        if answer.status == 404:  # the address is wrong, which is no "nothing found"
            return problem(ProblemKind.BAD_QUESTION, f"{self.name} answers 404")
        return judge_status(self.name, answer, now=self.now())
