"""A new master key: every key is wrapped anew, a batch at a time, while they are used.

From `begin_rotation` on new keys are wrapped with the new one; which one that is the store
says, so that all processes agree.  Cut off anywhere, it is gone on with by doing it again:
each wrap names its master key.
"""

from collections.abc import Callable
from typing import Protocol

#: Keys of one transaction: some 10 ms of the store's writer.
BATCH = 500


class Rewrapping(Protocol):
    """What a key store does for it; each method may raise `KeysUnavailable`."""

    async def begin_rotation(self, version: str) -> None:
        """Let the master key *version* wrap from now on.

        Raises:
            WrongMasterKey: This process does not hold it.
        """

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        """Wrap up to *limit* keys anew, by name after *after*; return the last and how many."""

    async def left(self) -> int:
        """Return how many keys are wrapped with another one than is in use."""

    async def end_rotation(self) -> None:
        """Wrap the secrets anew; the old one is needed no more, and old wraps are gone."""


async def rotate(
    store: Rewrapping,
    version: str,
    on_progress: Callable[[int, int], None],
    *,
    batch: int = BATCH,
) -> int:
    """Wrap everything in *store* with the master key *version*; return how many keys it was.

    *on_progress* is called after every batch: with keys done, and all there were.
    """
    await store.begin_rotation(version)
    done, after, every = 0, "", await store.left()
    while True:
        after, wrapped = await store.rewrap(after, batch)
        done += wrapped
        if wrapped:
            on_progress(done, max(every, done))
        elif not (left := await store.left()):
            break
        else:  # some changed while they were wrapped
            every, after = done + left, ""
    await store.end_rotation()
    return done
