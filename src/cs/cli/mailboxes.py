"""``cs mailboxes``: bounces of mail to the mailboxes that searches returned."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from msgspec.structs import asdict

from cs.cli.command import DryRun, Invocation, Output, on_data
from cs.cli.imports import columns_line, warn_of_rows
from cs.cli.output import facts, stop, warn
from cs.cli.progress import Progress
from cs.domain.causation import OperatorCause
from cs.operations.bounces.reading import BounceFile, read_sent
from cs.operations.bounces.recording import BounceCounts, BounceRecorder
from cs.sources.tables.table_file import BadFile

app = App(name="mailboxes", help="Import bounces.")


@app.command
@on_data
async def bounced(
    at: Invocation,
    file: Annotated[Path, Parameter(help="A table (CSV), or mails (.eml, .mbox); also .gz.")],
    /,
    *,
    sent: Annotated[
        Path | None,
        Parameter(help="The messages you sent: columns message-id and recipient; for mails."),
    ] = None,
    dry_run: DryRun = False,
) -> Output:
    """Import bounces from the tool that sends your mail, and correct what searches return.

    A permanent failure of the recipient (5.1.1 and its like) takes the e-mail out of what is
    reused, and for 30 days no new search verifies it again. A temporary one (4.x.x, a full
    mailbox), and one about you or your message (5.7.x, spam), is only counted. Nothing is
    stored about a mailbox that no search here returned.

    Columns are guessed by their names, and printed: e-mail, type (hard, soft, block), status
    (5.1.1), code (550), the server's words, time. A bad row is printed with its line, the
    others are imported all the same, and the exit code is 1. Importing the same file again
    changes nothing.

    Delivery status mails (RFC 3464) need --sent FILE, since anybody can forge one: a mail
    counts for a recipient if it returns a message that was sent to that recipient according
    to FILE. Others are counted as unproven and change nothing.

    With --json one object: file, form, columns, dry_run, and counts: rows, bounces, ignored,
    permanent, temporary, other, recorded, known, unproven, not_ours, corrected, undated, bad,
    bad_rows, damaged.

    Examples: `cs mailboxes bounced bounces.csv --dry-run`, or
    `cs mailboxes bounced returned.mbox --sent sent.csv --json`
    """
    data = await at.data()
    counts = BounceCounts()
    cause = OperatorCause(command="mailboxes bounced", who=data.by)
    reflected = data.view_runner().catch_up
    recorder = BounceRecorder(
        data.streams, data.keys, data.clock, reflected, caused_by=cause, dry_run=dry_run
    )
    try:
        read = BounceFile(file, data.clock.now(), None if sent is None else read_sent(sent))
        with Progress() as progress:
            await recorder.record_file(
                read.rows(),
                counts,
                lambda rows: progress.show(f"{rows} rows"),
            )
    except BadFile as error:
        so_far = f"; the {counts.rows} rows before are imported" if counts.rows else ""
        stop(f"{error}{so_far}")
    unit = "line" if read.columns else "row"
    warn_of_rows(counts.bad_rows, counts.bad, unit, "more bad rows")
    for line in _warnings(counts):
        warn(line)
    shown = {"file": str(file), "form": read.form, "columns": read.columns}
    text = ["dry run: nothing is written"] if dry_run else []
    text += [columns_line(read.columns)] if read.columns else []
    return Output(
        [{**shown, "counts": counts, "dry_run": dry_run}],
        [*text, *facts({**asdict(counts), "bad_rows": None})],
        code=1 if counts.bad or counts.damaged else 0,
    )


def _warnings(counts: BounceCounts) -> Iterator[str]:
    if counts.damaged:
        yield (
            f"{counts.damaged} cannot be recorded until damaged streams are mended "
            "(`cs log verify` lists them); then run this again"
        )
    if counts.unproven:
        yield (
            f"{counts.unproven} are not proven and change nothing: they return no message that "
            "was sent to that recipient"
        )
    if counts.undated:
        yield f"{counts.undated} without a time are taken to be of now"
