"""``--people``: who is who over all lookups, beside what a command shows."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import CommandContext
from cs.cli.progress import Progress
from cs.history.history import Progress as Reading
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


@contextmanager
def reading(what: str) -> Iterator[Reading]:
    """Yield what shows how far the log was read for *what*."""
    with Progress() as progress:
        yield lambda position, upto: progress.show(
            f"{what}: {position} of {upto} positions read"
        )


async def pseudonyms(data: CommandContext, people: Iterable[str]) -> Mapping[str, str]:
    """Return the pseudonyms of *people*, ``<lookup>#p1``, by those; of erased people none."""
    with reading("telling people apart") as progress:
        async with identities(data.log, data.keys, progress) as told_apart:
            return await told_apart.of(people)
