"""Erasing a person from the operator's own directory, too."""

from cs.directory.errors import DirectoryUnavailable
from cs.directory.port import DirectoryErasure
from cs.eventlog.errors import LogUnavailable


async def prints_in_directory(
    directory: DirectoryErasure | None, person: str, known: frozenset[str]
) -> frozenset[str]:
    """Return by what else somebody is known, by the rows of *directory* that are theirs.

    A row is theirs if it has the fingerprint *person* itself, or is of one of the profiles
    in *known*: one that shares only an address or a name with them is a namesake's.

    Args:
        directory: ``None``: the settings do not say where it is.
        person: A fingerprint.
        known: All that they are known by, *person* among them.

    Raises:
        LogUnavailable: It is away.
    """
    if directory is None:
        return frozenset()
    try:
        rows = await directory.printed(known)
    except DirectoryUnavailable as error:
        raise LogUnavailable(str(error)) from error
    theirs = [row for row in rows if person in row or row[0] in known]
    return frozenset(print_ for row in theirs for print_ in row)


async def erase_from_directory(
    directory: DirectoryErasure | None, prints: frozenset[str]
) -> int:
    """Forget whoever has any of *prints*; return how many rows that were.

    Raises:
        LogUnavailable: It is away; some may be left.
    """
    if directory is None:
        return 0
    try:
        return await directory.erase(prints)
    except DirectoryUnavailable as error:
        raise LogUnavailable(str(error)) from error
