"""``--people``: who is who over all lookups, beside what a command shows."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.progress import Progress
from cs.history.identities import identities

People = Annotated[
    bool,
    Parameter(
        negative="",
        help="Show beside `<lookup>#p1` the person's pseudonym over all lookups, `person_…`, "
        "which exports have as `who`. All of the history is read for somebody without a "
        "profile.",
    ),
]


async def pseudonyms(data: CommandContext, people: Iterable[str]) -> Mapping[str, str]:
    """Return the pseudonyms of *people*, ``<lookup>#p1``, by those; of erased people none."""
    with Progress() as progress:

        def show(position: int, upto: int) -> None:
            progress.show(f"telling people apart: {position} of {upto} positions read")

        async with identities(data.log, data.keys, show) as told_apart:
            return await told_apart.of(people)
