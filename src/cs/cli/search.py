"""``cs search``, ``cs get``, ``cs usage``: against any server of this API."""

import uuid
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
from cyclopts import Parameter
from rich.text import Text

from cs.cli.app import FAILED, LIMITED, NO_QUOTA
from cs.cli.command import Invocation, Output, Server, command
from cs.cli.output import (
    Progress,
    Table,
    console,
    csv_cell,
    facts,
    harmless,
    stop,
    styled,
    warn,
)
from cs.client import (
    Client,
    ClientError,
    Contact,
    Failed,
    Other,
    Patience,
    QuotaExceeded,
    Running,
    Search,
    TooManyRequests,
    Unavailable,
    Unsendable,
)
from cs.runtime.durations import in_words


@Parameter(name="*")
@dataclass(frozen=True)
class ListOptions:
    file: Annotated[
        Path | None,
        Parameter(help="Search a list: CSV of brand, domain; .txt: one brand a line."),
    ] = None
    results: Annotated[
        Path | None, Parameter(help="Where a list's results go: .csv or .jsonl.")
    ] = None
    ask_again: Annotated[
        bool,
        Parameter(help="List: ask for rows lost a day ago or by another key; may be charged."),
    ] = False
    retry_failed: Annotated[
        bool, Parameter(help="List: search again what the service could not finish.")
    ] = False
    estimate: Annotated[
        bool, Parameter(help="List: estimate its cost from the service's data; search nothing.")
    ] = False


HERE, NO_LIST = Server(), ListOptions()


@command("json", "csv", "data_dir", "config")
def search(
    at: Invocation,
    brand: Annotated[str | None, Parameter(help="The name people say.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    listed: ListOptions = NO_LIST,
    wait: Annotated[
        bool, Parameter(negative="--no-wait", help="Wait for the end of the search.")
    ] = True,
    idempotency_key: Annotated[
        str, Parameter(help="Names this search: asked again, it is charged once.")
    ] = "",
    server: Server = HERE,
) -> Output | Awaitable[Output]:
    """Search the people of a brand; wait for the end and print them.

    With --file a whole list is searched, within the limits of the key. The people found go
    to --results; run it again to go on where it stopped. Nothing is charged twice unless
    --ask-again allows it.
    If several exit codes apply, it is the first of 5, 4, 1, 3.

    With --estimate it shows what the list will cost: brands answered from reuse, new ones, and
    the cost of past runs. It reads the service's data, and makes no call.

    Example: `CS_API_KEY=cs_live_... cs search Veltrana --domain veltrana.test`
    """
    named = brand is not None or domain is not None
    if listed.estimate:
        if listed.file is None or named or listed.results is not None:
            stop("--estimate is of a list: name a --file, and nothing else to search", 2)
        from cs.cli.list_estimate import estimate_list  # noqa: PLC0415  reads the data

        return estimate_list(at, listed.file)
    if at.data_dir is not None or at.config is not None:
        stop("--data-dir and --config belong to --estimate; a search goes to --url", 2)
    if listed.file is not None:
        if named or idempotency_key or not wait:
            stop("--file takes the brands from the file: name no other, and wait", 2)
        from cs.cli.brand_list import results_path, search_list  # noqa: PLC0415  imports this

        results = results_path(at, listed.file, listed.results)
        identity = f"{server.url.rstrip('/')} {server.key}"
        with Progress() as progress, _client(server, progress) as client:
            return search_list(
                listed.file, results, listed, client, progress, identity=identity
            )
    if listed != NO_LIST:
        stop("--results, --ask-again and --retry-failed belong to --file", 2)
    if not named:
        stop("name a brand, a --domain or both, or a whole list with --file", 2)
    name = idempotency_key or str(uuid.uuid4())
    with Progress() as progress, _client(server, progress, name) as client:
        progress.show(f"searching {brand or domain}")
        ask = client.contacts.search if wait else client.contacts.start
        try:
            found = ask(brand, domain=domain, idempotency_key=name)
        except KeyboardInterrupt:
            warn(f"the search may go on; ask for it with --idempotency-key={name}")
            raise
    return _shown(found, code=FAILED if isinstance(found, Failed | Other) else 0)


@command("json", "csv")
def get(
    _: Invocation,
    search_id: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    server: Server = HERE,
) -> Output:
    """Read a search again, as it is now; free.

    Example: `cs get srch_yg2vnp75fv9fazbxhr4fyb0qgm --json`
    """
    with Progress() as progress, _client(server, progress) as client:
        return _shown(client.contacts.get(search_id))


@command("json")
def usage(_: Invocation, *, server: Server = HERE) -> Output:
    """Show how many searches the key has made and may still make; free.

    Example: `CS_API_KEY=cs_live_... cs usage`
    """
    with Progress() as progress, _client(server, progress) as client:
        found = client.usage()
    return Output([found], [f"used {found.used} of {found.quota}, {found.remaining} left"])


@contextmanager
def _client(server: Server, progress: Progress, name: str = "") -> Iterator[Client]:
    """Yield the client of *server*; an error of a call ends the command.

    Args:
        server: Its address and key.
        progress: Shows the waits.
        name: The idempotency key of the search that is made.
    """
    if not server.key:
        stop("no API key: give --key or set CS_API_KEY; `cs keys create` makes one", 2)
    patience = Patience(
        longest_s=server.patience,
        total_s=4 * server.patience,
        tries=Patience().tries if server.patience else 1,
    )
    try:
        with Client(server.url, server.key, patience=patience, sleep=progress.sleep) as client:
            yield client
    except ClientError as error:
        _stop(error, name)


def _shown(found: Search, code: int = 0) -> Output:
    return Output(
        [found],
        record_lines(msgspec.to_builtins(found)),
        csv=[COLUMNS, *rows(found)],
        code=code,
    )


def _stop(error: ClientError, name: str) -> NoReturn:
    if isinstance(error.search, Running):
        search = harmless(error.search.id)
        warn(f"{search} goes on without us: cs get {search}")
    elif error.in_doubt and name:
        warn(f"the search may go on; ask for it with --idempotency-key={name}")
    is_usage = isinstance(error, Unsendable)
    stop(str(error) if is_usage else describe(error), 2 if is_usage else exit_code(error))


#: Columns of a terminal that has room for the location.
WIDE = 100

_SEARCH = ("id", "status", "reason", "cached", "charged", "searched_at")
_BRAND = {
    "domain": "Web site",
    "linkedin_company_url": "LinkedIn",
    "parent_company": "Parent company",
    "instagram": "Instagram",
    "tiktok": "TikTok",
}
_PERSON = tuple(name for name in Contact.__struct_fields__ if name != "extras")
#: Columns of `rows`.
COLUMNS = ("brand", *_SEARCH, *(f"brand_{field}" for field in _BRAND), *_PERSON)
#: Advice for each reason of a failed search (contract text 7).
ADVICE = {
    "no_linkedin": "the company could not be pinned down; a full name or a domain may help",
    "no_contacts": "the company was found, but no person in a marketing role",
    "no_emails": "people were found, but no e-mail could be verified for any",
    "scrape_error": "a service we ask did not answer; try again in a few minutes",
    "timeout": "it took too long; try again in a few minutes",
    "error": "the service could not do its part; if it still fails in a few minutes, its "
    "operator has to repair it",
}


def record_lines(record: dict[str, Any]) -> Iterator[str | Text | Table]:
    """Yield the facts about the brand, then the people, verified ones first."""
    yield Text("  ").join([styled("[bold]{}[/]", record["brand"]), _status(record)])
    yield from facts((label, record.get(field)) for field, label in _BRAND.items())
    if contacts := record.get("contacts"):
        yield _people(contacts)
    usage = record["usage"]
    line = "[dim]{}  used {} of {} searches, {} left[/]"
    yield styled(line, record["id"], *(usage[n] for n in ("used", "quota", "remaining")))


def rows(search: Search) -> list[list[str]]:
    """Return a row for each contact; one without a person if there are none."""
    fields = msgspec.to_builtins(search)
    fields["status"] = search.status
    ahead = [csv_cell(fields.get(field)) for field in ("brand", *_SEARCH, *_BRAND)]
    people = () if isinstance(search, Running) else search.contacts
    found = [[csv_cell(getattr(person, field)) for field in _PERSON] for person in people]
    return [[*ahead, *cells] for cells in found or [[""] * len(_PERSON)]]


def _status(record: dict[str, Any]) -> Text:
    if record["status"] == "running":
        return styled("[yellow]running[/], ask again: cs get {}", record["id"])
    how = _how(record)
    match record["status"]:
        case "done":
            return styled("[green]done[/]{}", how)
        case "failed":
            reason = record["reason"]
            advice = ADVICE.get(reason, "a reason that this version does not know")
            return styled("[red]{}[/]: {}{}", reason, advice, how)
        case unknown:
            text = "[yellow]{}[/], a status that this version does not know{}"
            return styled(text, unknown, how)


def _how(record: dict[str, Any]) -> str:
    """Return in brackets how it was searched, as far as the record has it."""
    words: dict[str, dict[bool | None, str]] = {
        "cached": {True: "from reuse", False: "searched live"},
        "charged": {True: "1 search charged", False: "not charged"},
    }
    said = [says.get(record.get(field)) for field, says in words.items()]
    remarks = ", ".join(word for word in said if word)
    return f" ({remarks})" if remarks else ""


def _people(contacts: list[dict[str, Any]]) -> Table:
    # Addresses are there to be copied: other columns fold, this one does not.
    columns = ("Name", "Title", "E-mail", "Where")[: 4 if console.width >= WIDE else 3]
    cells = []
    for contact in contacts:
        verified = contact.get("email_status") == "verified"
        style = "[green]{}[/]" if verified else "[dim]not found[/]"
        row = [
            contact.get("full_name") or "",
            contact.get("title") or "",
            styled(style, contact.get("email") or ""),
            contact.get("location") or "",
        ]
        cells.append(row[: len(columns)])
    return Table(columns, cells, ["Name", "Title", "Where"])


def exit_code(error: ClientError) -> int:
    match error:
        case QuotaExceeded():
            return NO_QUOTA
        case TooManyRequests() | Unavailable():
            return LIMITED
        case _:
            return 1


def describe(error: ClientError) -> str:
    wait = f" (try again in {in_words(error.retry_after_s)})" if error.retry_after_s else ""
    return f"{harmless(error.code)}: {harmless(str(error))}{wait}"
