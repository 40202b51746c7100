"""``cs people``: erase a person, list who is erased, and export what is held on a person."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from cyclopts import App, Parameter

from cs.assembly.operator_command import CommandContext
from cs.assembly.person_requests import Disclosures, PersonRequests, known_as, print_of
from cs.cli.choosing import check_reason
from cs.cli.command import DryRun, Invocation, NewFile, Output, on_data
from cs.cli.output import Table, facts, json_line, json_text, reading, stop, warn, write_new
from cs.domain.brand.brand import stream_of
from cs.domain.refusal import Refusal
from cs.eventlog.port import DamagedEvent
from cs.operations.retention import MONTH
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


@Parameter(name="*")
@dataclass(frozen=True)
class Named:
    """The options that name one person."""

    email: Annotated[str | None, Parameter(help="An e-mail of the person.")] = None
    profile: Annotated[str | None, Parameter(help="Address of their LinkedIn profile.")] = None

    @property
    def known_as(self) -> str:
        """Return ``profile:…`` or ``email:…``; a mistake ends the command."""
        try:
            return known_as(self.email, self.profile)
        except Refusal as refused:
            stop(str(refused), 2)


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
    known = named.known_as
    data = await at.data()
    if dry_run:
        return await _foresee(data, known)
    with _unfinished_if_damaged(), _requests(data, "looking for disclosures") as requests:
        done = await requests.erasure.erase(print_of(data.keys, known))
        disclosed = await requests.may_hold(done.names)
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
        people = await PersonRequests(data).erasure.reapply()
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
    known = None if named == UNNAMED else named.known_as
    if lift == ALL and known is None:
        stop("--lift all: name the person by --email or --profile", 2)
    data = await at.data()
    erasure = PersonRequests(data).erasure
    found = await erasure.suppressed(None if known is None else print_of(data.keys, known))
    if lift is not None:
        found = [each for each in found if lift in {ALL, each.id}]
    if not found and (lift is not None or known is not None):
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
    known = named.known_as
    data, kept_for = await at.data(), MONTH * at.settings().people_kept_for
    with _requests(data, "looking for the person") as requests:
        found = await requests.held(known, reveal, out.name if out else None, kept_for)
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


@contextmanager
def _requests(data: CommandContext, what: str) -> Iterator[PersonRequests]:
    """Yield what answers requests of people, and shows how far the log was read for *what*."""
    with reading(what) as show:
        yield PersonRequests(data, warn=warn, progress=show)


async def _foresee(data: CommandContext, known: str) -> Output:
    brands = {stream: row.query for stream, row in await (await data.reading()).brands()}
    fingerprint = print_of(data.keys, known)
    with _requests(data, "looking for disclosures") as requests:
        found = await requests.erasure.foresee(fingerprint)
        suppressed = bool(await requests.erasure.suppressed(fingerprint))
        disclosed = await requests.may_hold(found.names)
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
