"""``cs ledger``: what became of a key's quota, search by search."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import asdict

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import At, Since, Until, check_period, end_of
from cs.cli.command import Invocation, Output, command
from cs.cli.output import Table, csv_cell, stop
from cs.history.history import History
from cs.history.ledger import LedgerEntry, ledger, with_earners
from cs.history.selection import Selection

_FIELDS = LedgerEntry.__struct_fields__


@command("csv", "json", "data_dir", "config")
async def show_ledger(
    call: Invocation,
    key: Annotated[str, Parameter(help="The key's id, as `cs keys list` shows it.")],
    /,
    *,
    since: Since = None,
    until: Until = None,
    at: At = None,
) -> Output:
    """Show each reservation, charge and release of a key, with the balance after it.

    Every charge names its search, and the people whose verified e-mails earned it as
    `<lookup>#p1`. Bounced are those of them from whose mailboxes mail came back within 30 days
    (`cs mailboxes bounced`): the charge stands. The last balance is that of `GET /usage`, now
    or as of --at.

    Example: `cs ledger key_1a2s --since 2026-03-01 --until 2026-04-01 --csv > march.csv`
    """
    check_period(since, until)
    period = Selection(since=since, until=until)
    data = await call.data()
    entries = await _entries(data, key, at)
    shown = [each for each in entries if period.is_between(each.at)]
    cells = [[csv_cell(getattr(entry, name)) for name in _FIELDS] for entry in shown]
    rows = [
        {**asdict(e), "earned_by": _short(e.earned_by), "bounced": _short(e.bounced)}
        for e in shown
    ]
    fields = "at what units brand search earned_by bounced reserved remaining"
    last = entries[-1]
    balance = f"quota {last.quota}, used {last.used}, remaining {last.remaining}"
    table = Table.of(rows, fields, "brand search earned_by")
    return Output(shown, [table, balance], csv=[_FIELDS, *cells])


async def _entries(data: CommandContext, key: str, at: str | None) -> Sequence[LedgerEntry]:
    history = History(data.log)
    stream = f"key-{key.removeprefix('key-')}"
    upto = await end_of(history, at)
    events = [recorded async for recorded in history.stream(stream, upto)]
    if not events and await history.is_there(stream):
        stop(f"{key} had not been issued by then")
    if not events:
        stop(f"there is no key {key}; `cs keys list` shows those there are")
    return [entry async for entry in with_earners(history, ledger(events))]


def _short(people: Sequence[str]) -> str:
    """Return *people*, ``<lookup>#p1``, without their lookup: it is that of the search."""
    return " ".join(person.rpartition("#")[2] for person in people)
