"""Doing again all that was ever erased, for a key store that came back from a backup.

It has keys that were destroyed since, and does not know who was suppressed or lifted.
"""

from cs.operations.erasure.ageing import Ageing
from cs.operations.erasure.person import Erasure, Unfinished
from cs.operations.erasure.suppressions import Suppressions, person_id


async def reapply(erasure: Erasure, suppressions: Suppressions, ageing: Ageing) -> int:
    """Erase everybody who ever was and still is suppressed; return how many there are.

    Who aged out goes too, and what was erased of people who may be found again.

    Raises:
        LogUnavailable: Do it again.
        DamagedEvent: The same, once the damage is mended.  All others are gone.
        DeletedDataRemains: The same, once nobody else reads the files that keep bytes of them.
    """
    command = erasure.command("people reapply")
    wishes = await suppressions.wishes()
    suppressed = [stream for stream, wish in wishes.items() if wish.state.suppressed]
    lifted = wishes.keys() - set(suppressed)
    await suppressions.refuse_no_longer(wishes, lifted)
    gone = frozenset[str]().union(*(wishes[s].state.erased_from for s in lifted))
    unfinished = Unfinished()
    await erasure.take_out(gone, command, unfinished)
    for stream in suppressed:
        with unfinished.noted():
            await erasure.erase(person_id(stream), caused_by=command)
    if lookups := await ageing.aged_out():
        with unfinished.noted():
            aged_out = await ageing.age_out(lookups, command)
            unfinished.damaged = aged_out.unread or unfinished.damaged
    unfinished.check()
    return len(suppressed)
