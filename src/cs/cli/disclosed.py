"""Which disclosures may hold somebody, for the commands on one person."""

from collections.abc import Iterable, Sequence

import msgspec

from cs.cli.output import warn
from cs.cli.pseudonyms import reading
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import EventLog
from cs.history.disclosures import HeldBy, disclosures_of

#: ``None``: some of the log is damaged, and nobody can say.
Disclosures = Sequence[HeldBy] | None


async def may_hold(log: EventLog, people: Iterable[str]) -> Disclosures:
    """Return the disclosures that may hold *people*, ``<lookup>#p1``; warn if it is not known.

    Raises:
        LogUnavailable: The log cannot be read now.
    """
    with reading("looking for disclosures") as show:
        try:
            return await disclosures_of(log, people, show)
        except (DamagedEvent, msgspec.MsgspecError):
            warn(
                "which exports may hold this person cannot be told: some of the log is "
                "damaged; mend it (`cs log verify` lists it all), then run this again"
            )
            return None
