"""``cs ledger``: what became of a key's quota, search by search."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import as_csv, console, print_bytes, print_json, print_table, stop
from cs.cli.pseudonyms import People, pseudonyms
from cs.cli.settings_in_force import settings
from cs.history.history import History
from cs.history.ledger import LedgerEntry, ledger, with_earners
from cs.projections.searches import instant
from cs.settings import Settings

#: Movements of one key in memory at most: some 300 bytes each.
MOST = 1_000_000


def show_ledger(
    key: Annotated[str, Parameter(help="The key's id, as `cs keys list` shows it.")],
    /,
    *,
    people: People = False,
    csv: Annotated[bool, Parameter(negative="", help="Print CSV for a spreadsheet.")] = False,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show each reservation, charge and release of a key, with the balance after it.

    Every charge names its search, and the people whose verified e-mails earned it as
    `<lookup>#p1`; with --people, also as exports do over all lookups. Bounced are those of
    them from whose mailboxes mail came back within 30 days (`cs mailboxes bounced`): the
    charge stands. The last balance is what `GET /usage` says.

    Example: `cs ledger key_1a2s --csv > ledger.csv`
    """
    if csv and json:
        stop("--csv and --json: one of them", 2)
    entries = asyncio.run(_entries(settings(config, data_dir=data_dir), key, people=people))
    if json:
        for entry in entries:
            print_json(entry)
    elif csv:
        rows = [[_cell(getattr(entry, name)) for name in _FIELDS] for entry in entries]
        print_bytes(as_csv([_FIELDS, *rows]))
    else:
        _show(entries)


#: In the place of an erased person's pseudonym.
_ERASED = "erased"
_FIELDS = LedgerEntry.__struct_fields__


async def _entries(chosen: Settings, key: str, *, people: bool) -> Sequence[LedgerEntry]:
    async with open_command_context(chosen) as data:
        history = History(data.log)
        stream = f"key-{key.removeprefix('key-')}"
        events = [recorded async for recorded in history.stream(stream)]
        if not events:
            stop(f"there is no key {key}; `cs keys list` shows those there are")
        if len(events) > MOST:
            stop(f"{key} has {len(events)} events, more than {MOST}: use `cs events export`")
        entries = [entry async for entry in with_earners(history, ledger(events))]
        earners = {person for entry in entries for person in entry.earned_by}
        if not people or not earners:
            return entries
        who = await pseudonyms(data, earners)
        return [
            msgspec.structs.replace(entry, who=tuple(map(who.get, entry.earned_by)))
            for entry in entries
        ]


def _show(entries: Sequence[LedgerEntry]) -> None:
    rows = [
        (
            instant(entry.at),
            entry.what,
            str(entry.units),
            entry.brand or "",
            entry.search or "",
            " ".join(_earners(entry)),
            " ".join(person.rpartition("#")[2] for person in entry.bounced),
            str(entry.reserved),
            str(entry.remaining),
        )
        for entry in entries
    ]
    searched = ("At", "What", "Units", "Brand", "Search")
    columns = (*searched, "Earned by", "Bounced", "Reserved", "Remaining")
    print_table(columns, rows, folds=["Brand", "Search", "Earned by"])
    last = entries[-1]
    console.print(f"quota {last.quota}, used {last.used}, remaining {last.remaining}")


def _earners(entry: LedgerEntry) -> Sequence[str]:
    if entry.who:
        return [each or _ERASED for each in entry.who]
    return [person.rpartition("#")[2] for person in entry.earned_by]


def _cell(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(each or _ERASED for each in value)
    if value is None:
        return ""
    plain = msgspec.to_builtins(value)
    return str(plain).lower() if isinstance(plain, bool) else str(plain)
