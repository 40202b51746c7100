"""Who is who over all lookups, and how far the log was read to tell."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from cs.assembly.operator_command import CommandContext
from cs.cli.progress import Progress
from cs.history.history import Progress as Reading
from cs.history.identities import identities


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
