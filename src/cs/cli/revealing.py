"""Who people are: pseudonyms, unless ``--reveal WHY`` says why they are opened."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.progress import reading
from cs.domain.disclosure import clean_reason
from cs.domain.refusal import Refusal
from cs.history.identities import identities


def check_reason(_: object, why: str | None) -> None:
    """Raise `ValueError` if *why* is given and is no reason."""
    try:
        if why is not None:
            clean_reason(why)
    except Refusal as refused:
        raise ValueError(str(refused)) from refused


Reveal = Annotated[
    str | None,
    Parameter(
        validator=check_reason,
        help="Open people, and say why in a sentence: it is stored with your name before "
        "anything is shown. Name a ticket, not a person.",
    ),
]


async def pseudonyms(data: CommandContext, people: Iterable[str]) -> Mapping[str, str]:
    """Return the pseudonyms of *people*, ``<lookup>#p1``, by those; of erased people none."""
    with reading("telling people apart") as progress:
        async with identities(data.log, data.keys, progress) as told_apart:
            return await told_apart.of(people)
