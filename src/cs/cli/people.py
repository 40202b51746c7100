"""``cs people``: erase a person, list who is erased, and export what is held on a person."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import check_reason
from cs.cli.command import DryRun, Invocation, NewFile, Output, on_data
from cs.cli.output import Table, facts, json_line, json_text, reading, stop, warn, write_new
from cs.directory.person import DirectoryPerson
from cs.directory.store import DirectoryUnavailable
from cs.domain.brand.brand import stream_of
from cs.domain.disclosure import DisclosedEvents
from cs.domain.mail.syntax import ascii_mailbox, is_mailbox
from cs.domain.names.profile_url import person_page
from cs.eventlog.fingerprints import email_print, profile_print
from cs.eventlog.port import DamagedEvent, EventLog
from cs.history.disclosures import HeldBy, disclosures_of
from cs.history.identities import identities
from cs.history.person import held_on
from cs.keystore.port import KeyStore
from cs.operations.erasure import Erasure
from cs.operations.retention import MONTH
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.register import RememberedCall
from cs.projections.searches import instant

app = App(
    name="people",
    help="Erase a person who asks to be forgotten; list who is; export all that is held on a "
    "person.",
)

#: Lifts all who are named, whatever their ids.
ALL = "all"
#: Why `cs people export` opens a person, unless --reveal says otherwise.
ARTICLE_15 = "Asked for by the person, GDPR article 15"
#: Records that a disclosure names; of a person with more it names none, which means all.
_NAMED = 10_000
#: Returns the fingerprint of a person, given the key store that has their data.
PrintOf = Callable[[KeyStore], str]
#: ``None``: not known, because some of the log is damaged.
Disclosures = Sequence[HeldBy] | None


@Parameter(name="*")
@dataclass(frozen=True)
class Named:
    """The options that name one person."""

    email: Annotated[str | None, Parameter(help="An e-mail of the person.")] = None
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None

    @property
    def known_as(self) -> str:
        """Return ``profile:…`` or ``email:…``; a mistake ends the command."""
        if (self.email is None) == (self.profile is None):
            stop("name the person by --email or by --profile, one of the two", 2)
        if self.profile is not None:
            url = self.profile if "://" in self.profile else f"https://{self.profile}"
            page = person_page(url)
            if page is None:
                stop("--profile: a LinkedIn profile, https://www.linkedin.com/in/…", 2)
            return f"profile:{page}"
        address = ascii_mailbox(self.email or "").lower()
        if not is_mailbox(address):
            stop("--email: one address, jane@example.com", 2)
        return f"email:{address}"

    @property
    def print_of(self) -> PrintOf:
        """Return a function that makes the person's fingerprint; a mistake ends the command."""
        kind, _, value = self.known_as.partition(":")
        make = email_print if kind == "email" else profile_print
        return lambda keys: make(keys, value)


UNNAMED = Named()


@app.command
@on_data
async def erase(
    at: Invocation,
    *,
    named: Named = UNNAMED,
    dry_run: DryRun = False,
) -> Output:
    """Erase a person from everything stored, and keep later searches from finding them.

    With --dry-run it prints what would be erased: lookups, data keys and brands. Both list the
    exports made with --reveal that may hold the person: delete those.

    Works on the data folder, next to a running service or without one; a running one
    drops what it holds in memory within a second. Cannot be undone. Running it again does
    no harm, and finishes an erasure that was interrupted. Neither the address nor the profile
    is stored or printed.

    Example: `cs people erase --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    print_of = named.print_of
    data = await at.data()
    if dry_run:
        return await _foresee(data, print_of)
    with _unfinished_if_damaged():
        done = await _erasure(data).erase(print_of(data.keys))
        disclosed = await may_hold(data.log, done.names)
    row = {
        "known": done.lookups > 0,
        "lookups": done.lookups,
        "keys_destroyed": done.keys,
        "directory_rows": done.directory,
        "suppressed": True,
        "changed": done.new,
    }
    lines = ["later searches leave this person out", *facts(row)]
    return Output([row | {"disclosed": disclosed}], [*lines, *_disclosures(disclosed)])


@app.command
@on_data
async def reapply(at: Invocation) -> Output:
    """Erase again everyone who was ever erased.

    For after `keys.db` was restored from a backup: it has keys that were destroyed since.

    Example: `cs people reapply --data-dir /var/lib/cs`
    """
    data = await at.data()
    with _unfinished_if_damaged():
        people = await _erasure(data).reapply()
    return Output([{"people": people}], [f"{people} erased again"])


@app.command
@on_data
async def suppressed(
    at: Invocation,
    *,
    named: Named = UNNAMED,
    lift: Annotated[
        str | None, Parameter(help="Id of one erased by mistake, or all: those named.")
    ] = None,
) -> Output:
    """List who is kept out of later searches, ask about one person, or lift a mistake.

    Only keyed hashes are kept: the list has an id, since when, from how many lookups, and
    who had it done.
    With --email or --profile it says whether that person is among them.

    Lifting lets later searches find them again. What was erased stays erased: a brand that
    is still reused shows them after `cs brands forget`.

    Example: `cs people suppressed --email jane@acme.example --lift all`
    """
    print_of = None if named == UNNAMED else named.print_of
    if lift == ALL and print_of is None:
        stop("--lift all: name the person by --email or --profile", 2)
    data = await at.data()
    erasure = _erasure(data)
    found = await erasure.suppressed(print_of(data.keys) if print_of is not None else None)
    if lift is not None:
        found = [each for each in found if lift in {ALL, each.id}]
    if not found and (lift is not None or print_of is not None):
        stop("no suppressed person goes by that; `cs people suppressed` lists all")
    shown = [
        {
            "id": each.id,
            "since": instant(each.since),
            "lookups": len(each.state.erased_from),
            "by": each.by,
            "lifted": lift is not None,
        }
        for each in found
    ]
    if lift is not None:
        lifted = await erasure.lift(each.id for each in found)
        return Output(shown, [f"{lifted} may be found again by later searches"])
    return Output(shown, [Table.of(shown, "id since lookups by", "by")])


@app.command
@on_data
async def export(
    at: Invocation,
    *,
    named: Named = UNNAMED,
    out: Annotated[
        NewFile, Parameter(help="Into this file, which must not be there; else printed.")
    ] = None,
    reveal: Annotated[
        str,
        Parameter(
            validator=check_reason, help="Why; stored with your name before anything is shown."
        ),
    ] = ARTICLE_15,
) -> Output:
    """Print everything that is held on a person, as the law lets them ask for it.

    As JSON, on one line with --json: every lookup that found them, when, for which brand and
    from which sources; what was stored, with every verdict and conversation with a mail
    server; which searches were answered with them, and whose; until when it is kept; who
    opened their data before. That you did is stored first. Another person's record that
    shares only an address or a name is not shown.

    Example: `cs people export --profile https://www.linkedin.com/in/jane-doe-1a2b`
    """
    print_of = named.print_of
    data, kept_for = await at.data(), MONTH * at.settings().people_kept_for
    found = await _held(data, print_of(data.keys), reveal, out, kept_for=kept_for)
    text = json_text(found)
    if out is None:
        return Output([found], [text])
    write_new(out, json_line(found) if at.json else f"{text}\n".encode())
    count = len(found["records"])
    records = "1 record" if count == 1 else f"{count} records"
    return Output([{"file": str(out), "records": count}], [f"{records} written to {out}"])


@contextmanager
def _unfinished_if_damaged() -> Iterator[None]:
    """End the command if an erasure within is not finished."""
    try:
        yield
    except DamagedEvent as damaged:
        stop(
            f"the erasure is not finished: {damaged}; who is erased is not shown any "
            "more; mend that event (`cs log verify` lists all), then run this again"
        )


def _erasure(data: CommandContext) -> Erasure:
    return Erasure(
        data.streams,
        data.keys,
        data.clock,
        data.view_runner().catch_up,
        forget_calls=None if data.calls is None else data.calls.erase,
        directory=data.directory_erasure,
        by=data.by,
    )


async def _foresee(data: CommandContext, print_of: PrintOf) -> Output:
    brands = {stream: row.query for stream, row in await (await data.reading()).brands()}
    fingerprint, erasure = print_of(data.keys), _erasure(data)
    found = await erasure.foresee(fingerprint)
    suppressed = bool(await erasure.suppressed(fingerprint))
    disclosed = await may_hold(data.log, found.names)
    streams = sorted({stream_of(name.rpartition("#")[0]) for name in found.names})
    queries = [brands[stream] for stream in streams if stream in brands]
    row = {
        "lookups": found.lookups,
        "keys": found.keys,
        "brands": [query.brand or query.domain or "" for query in queries],
        "suppressed": suppressed,
        "directory_rows": found.directory,
        "dry_run": True,
    }
    lines = ["nothing is changed; an erasure would take for good:", *facts(row)]
    return Output([row | {"disclosed": disclosed}], [*lines, *_disclosures(disclosed)])


def _disclosures(found: Disclosures) -> Sequence[str | Table]:
    """Return *found* as a table under its heading, if there are any."""
    if not found:
        return ()
    made = "1 disclosure" if len(found) == 1 else f"{len(found)} disclosures"
    return (
        f"{made} may hold this person; delete what was written then:",
        Table.of(found, "at by command file why position", "why file"),
    )


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
                "which exports may hold this person is not known: some of the log is "
                "damaged; mend it (`cs log verify` lists it all), then run this again"
            )
            return None


async def _held(
    data: CommandContext, print_: str, why: str, out: Path | None, *, kept_for: timedelta
) -> dict[str, Any]:
    """Return everything that is held on the person with the fingerprint *print_*.

    That their data is opened is stored first, with the reason *why*, and the file *out* if
    it goes into one.  ``None`` in the place of a list means that it is not known: some of the
    log is damaged, or the settings do not name the store or its key.

    Raises:
        SystemExit: Several people go by that fingerprint.
        LogUnavailable: Log or key store cannot be read now.
    """
    position = await data.log.head()
    with reading("looking for the person") as show:
        async with identities(data.log, data.keys, show) as people:
            matching = await people.of(sorted(await data.keys.matching([print_])))
            pseudonyms = sorted(set(matching.values()))
            if len(pseudonyms) > 1:
                stop(
                    f"{len(pseudonyms)} people go by that, and each may see only what is held "
                    "on them: name the person by --profile"
                )
            names = [name for who in pseudonyms for name in await people.records_of(who)]
        named = tuple(names) if len(names) <= _NAMED else ()
        before = await may_hold(data.log, names)
        upto = position if names else 0  # there is nothing to open
        asked = DisclosedEvents(people=named, upto=position)
        file = out.name if out else None
        await data.operator.disclose("people export", why, asked, upto=upto, file=file)
        data.keys.forget()  # of a person who was erased meanwhile
        held = await held_on(data.log, data.keys, names, show)
    directory = await _in_directory(data, print_)
    since = [each.since for each in await _erasure(data).suppressed(print_)]
    return {
        "at": data.clock.now(),
        "position": position,  # of the log's last event that is covered
        "known": bool(held.records or held.unread or directory),
        "pseudonym": pseudonyms[0] if pseudonyms else None,  # in exports that hide people
        "records": [replace(r, kept_until=r.forgotten_at(kept_for)) for r in held.records],
        "unread": held.unread,  # lookups that hold data about them and cannot be read
        "suppressed": bool(await data.keys.suppressed([print_])),
        # If it was requested by this address or profile.
        "suppressed_since": since[0] if since else None,
        "disclosures": before,
        "paid_calls": await _paid_calls(data, {name.rpartition("#")[0] for name in names}),
        "directory": directory,
    }


async def _paid_calls(
    data: CommandContext, lookups: Iterable[str]
) -> Sequence[RememberedCall] | None:
    if data.calls is None:
        warn("answers of paid providers are not looked for: the settings lack stages_postgres")
        return None
    try:
        return await data.calls.remembered(sorted(lookups))
    except CallsUnavailable as error:
        warn(f"the answers of paid providers cannot be read now: {error}")
        return None


async def _in_directory(data: CommandContext, print_: str) -> Sequence[DirectoryPerson] | None:
    if data.directory is None:
        warn("your own directory is not searched: the settings lack it or its key")
        return None
    try:
        found = await data.directory.known_by([print_])
    except DirectoryUnavailable as error:
        warn(f"your own directory cannot be read now: {error}")
        return None
    if len(found) > 1:
        warn(
            f"{len(found)} people of your own directory go by that, and each may see only what "
            "is held on them: name the person by --profile"
        )
        return ()
    return found
