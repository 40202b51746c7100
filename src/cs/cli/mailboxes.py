"""``cs mailboxes``: what became of mail to the mailboxes that searches returned."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.options import Config, DataDir, DryRun, Json
from cs.cli.output import console, print_json, stop, warn
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.domain.causation import OperatorCause
from cs.operations.bounces.bounce_file import BadFile, BounceFile, Format
from cs.operations.bounces.importing import BounceCounts, record_rows
from cs.operations.bounces.recording import BounceRecorder
from cs.operations.bounces.sent_messages import SentMessages
from cs.settings import Settings

app = App(name="mailboxes", help="Tell of mail that came back from mailboxes.")


class BounceImport(msgspec.Struct, kw_only=True):
    """What was read, and what it came to."""

    file: str
    form: str
    columns: dict[str, str]
    counts: BounceCounts
    dry_run: bool


@app.command
def bounced(
    file: Annotated[Path, Parameter(help="CSV, TSV, JSON, JSON lines, .eml or .mbox; or .gz.")],
    /,
    *,
    form: Annotated[
        Format | None, Parameter(help="What the file is, if not what its name says.")
    ] = None,
    sent: Annotated[
        Path | None,
        Parameter(help="The messages you sent, a line `message-id,recipient` each; for mails."),
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Take bounces from the tool that sends your mail, and correct what searches return.

    A permanent failure of the recipient (5.1.1 and its like) takes the e-mail out of what is
    reused, and for 30 days no new search verifies it again. A temporary one (4.x.x, a full
    mailbox), and one about you or your message (5.7.x, spam), is only counted. Of a mailbox
    that no search here returned nothing is stored.

    Columns are guessed by their names and told: e-mail, type (hard, soft, block), status
    (5.1.1), code (550), what the server said, time. The exports of SendGrid's and Amazon
    SES's webhooks are read as they are. A bad row is told with its number, the others are
    taken all the same, and the exit code is 1 at the end. The same file again changes nothing.

    Delivery status mails (RFC 3464) need --sent FILE, since anybody can forge one: a mail
    counts for a recipient if it returns a message that was sent to that recipient according
    to FILE. Others are counted as unproven and change nothing.

    With --json one object: file, form, columns, dry_run, and counts: rows, bounces, ignored,
    permanent, temporary, other, recorded, known, unproven, not_ours, corrected, undated, bad,
    bad_rows, damaged.

    Examples: `cs mailboxes bounced bounces.csv --dry-run`, or
    `cs mailboxes bounced returned.mbox --sent sent.csv --json`
    """
    chosen = settings(config, data_dir=data_dir)
    done = asyncio.run(_import(chosen, file, form, sent, dry_run=dry_run))
    if json:
        print_json(done)
    else:
        _tell(done)
    if done.counts.bad or done.counts.damaged:
        raise SystemExit(1)


async def _import(
    chosen: Settings, path: Path, form: Format | None, sent: Path | None, *, dry_run: bool
) -> BounceImport:
    async with open_command_context(chosen) as data:
        counts = BounceCounts()
        try:
            file = BounceFile(path, data.clock.now(), form, _sent(sent))
            recorder = BounceRecorder(
                data.streams,
                data.keys,
                data.clock,
                data.view_runner().catch_up,
                caused_by=OperatorCause(command="mailboxes bounced", who=data.by),
            )
            with Progress() as progress:
                await record_rows(
                    file.rows(),
                    recorder,
                    counts,
                    dry_run=dry_run,
                    progress=lambda rows: progress.show(f"{rows} rows"),
                )
        except BadFile as error:
            so_far = f"; the {counts.rows} rows before are taken" if counts.rows else ""
            stop(f"{error}{so_far}")
    return BounceImport(
        file=str(path), form=file.form, columns=file.columns, counts=counts, dry_run=dry_run
    )


def _sent(path: Path | None) -> SentMessages | None:
    try:
        return None if path is None else SentMessages.read(path)
    except (OSError, ValueError) as error:
        stop(f"{path}: {getattr(error, 'strerror', None) or error}")


def _tell(done: BounceImport) -> None:
    counts = done.counts
    for number, why in counts.bad_rows:
        warn(f"row {number}: {why}")
    if counts.bad > len(counts.bad_rows):
        warn(f"and {counts.bad - len(counts.bad_rows)} more bad rows")
    if counts.damaged:
        warn(
            f"{counts.damaged} cannot be recorded until damaged streams are mended "
            "(`cs log verify` lists them); then run this again"
        )
    if counts.unproven:
        warn(
            f"{counts.unproven} are not proven and change nothing: they return no message that "
            "was sent to that recipient"
        )
    if counts.undated:
        warn(f"{counts.undated} without a time are taken to be of now")
    if done.columns:
        read = ", ".join(f"{field} from {column!r}" for field, column in done.columns.items())
        console.print(f"columns: {read}")
    console.print(
        f"{counts.rows} rows: {counts.bounces} bounces ({counts.permanent} permanent, "
        f"{counts.temporary} temporary, {counts.other} about something else), "
        f"{counts.ignored} no bounces, {counts.bad} bad"
    )
    would = "would be " if done.dry_run else ""
    console.print(
        f"{counts.recorded} {would}recorded, {counts.known} known before, {counts.not_ours} of "
        f"mailboxes that no search returned; {counts.corrected} results {would}corrected"
    )
