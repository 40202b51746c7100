"""A file of bounces recorded a batch at a time, and what that came to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from cs.domain.mail.bounce import Bounce
from cs.operations.bounces.bounce_file import BadFile, Row
from cs.operations.bounces.recording import BounceRecorder, RecordedBounce
from cs.operations.bounces.status_mail import Unproven
from cs.runtime.table_text import is_hopeless

#: Rows recorded at once: what is recorded when an import is stopped stays.
BATCH = 500
#: Bad rows that are told one by one; of the others only their number.
TOLD = 20


class BounceCounts(msgspec.Struct, kw_only=True):
    """What bounces came to.

    Attributes:
        rows: Read; of a mail, its recipients.
        bounces: Of those, that tell of a bounce; ``ignored``: of something else.
        permanent, temporary, other: Of the bounces, by what follows from them.
        recorded: Of the bounces, told for the first time; ``known``: told before.
        unproven: Of messages that are not known to have been sent; they change nothing.
        not_ours: Of no mailbox that a search returned.
        corrected: Results that are without an e-mail now, over all lookups.
        undated: Bounces without a time, which are taken to be of now.
        bad: Rows that tell of none although they should; ``bad_rows``: the first, and why.
        damaged: Bounces that cannot be recorded until a damaged stream is mended.
    """

    rows: int = 0
    bounces: int = 0
    ignored: int = 0
    permanent: int = 0
    temporary: int = 0
    other: int = 0
    recorded: int = 0
    known: int = 0
    unproven: int = 0
    not_ours: int = 0
    corrected: int = 0
    undated: int = 0
    bad: int = 0
    bad_rows: list[tuple[int, str]] = []
    damaged: int = 0

    def count(self, bounce: Bounce, became: RecordedBounce) -> None:
        """Count what *bounce* became."""
        self.bounces += 1
        self.undated += bounce.at is None
        self.corrected += became.corrected
        for name in (became.kind.value, became.result):
            setattr(self, name, getattr(self, name) + 1)


async def record_rows(
    rows: Iterable[tuple[int, Row]],
    recorder: BounceRecorder,
    counts: BounceCounts,
    *,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda _rows: None,
) -> None:
    """Record the bounces in *rows*, and add what became of them to *counts*.

    Raises as `BounceRecorder.record`, and whatever *rows* raises; `BadFile` if nearly all rows
    are bad.
    """
    for batch in _batches(_bounces(rows, counts)):
        became = await recorder.record(batch, dry_run=dry_run)
        for bounce, result in zip(batch, became, strict=True):
            counts.count(bounce, result)
        progress(counts.rows)


def _bounces(rows: Iterable[tuple[int, Row]], counts: BounceCounts) -> Iterator[Bounce]:
    for number, row in rows:
        counts.rows += 1
        if isinstance(row, str):
            counts.bad += 1
            if len(counts.bad_rows) < TOLD:
                counts.bad_rows.append((number, row))
            if is_hopeless(counts.rows, counts.bad):
                raise BadFile(f"nearly all of its {counts.rows} rows are bad: {row}")
        elif row is None:
            counts.ignored += 1
        elif isinstance(row, Unproven):
            counts.unproven += 1
        else:
            yield row


def _batches(bounces: Iterator[Bounce]) -> Iterator[Sequence[Bounce]]:
    while batch := list(islice(bounces, BATCH)):
        yield batch
