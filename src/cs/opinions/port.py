"""Who is asked for a second opinion on headlines."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from cs.domain.contact import Opinion

#: Headlines of one lookup that are asked about: one call, whose answer is there in some
#: seconds.
AT_ONCE = 20


class UnsureHeadline(msgspec.Struct, frozen=True, kw_only=True):
    """A headline that the rules are unsure of.

    Attributes:
        person: Whose it is in this lookup: ``p1``.
        text: Without what says who that is (`cs.domain.opinions.nameless`).
        doubts: Why (`cs.domain.headline.doubt.Doubt`).
    """

    person: str
    text: str
    doubts: tuple[str, ...]


class SecondOpinion(Protocol):
    """Says what it reads of headlines."""

    @property
    def name(self) -> str:
        """What it is called in logs and causes."""

    async def of(self, headlines: Sequence[UnsureHeadline]) -> Sequence[Opinion]:
        """Return an opinion on each of *headlines*, `AT_ONCE` at most, that it has one on.

        Raises:
            cs.paid_calls.problems.ServiceProblem: It has none on any.
        """
