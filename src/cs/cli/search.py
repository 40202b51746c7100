"""``cs search``, ``cs get``, ``cs usage``: against any server of this API."""

import uuid
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
from cyclopts import Parameter

from cs.cli.app import FAILED
from cs.cli.command import Invocation, Output, Server, command
from cs.cli.list_files import is_json
from cs.cli.list_search import ListOptions, search_list
from cs.cli.output import harmless, stop, warn
from cs.cli.progress import Progress
from cs.cli.search_record import COLUMNS, describe, exit_code, record_lines, rows
from cs.client import Client, ClientError, Failed, Other, Patience, Running, Search, Unsendable

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
        results = _results(at, listed.file, listed.results)
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


def _results(at: Invocation, file: Path, results: Path | None) -> Path:
    """Return where the results of the list *file* go, ``brands.results.csv`` by default."""
    if not file.name or (results is not None and not results.name):
        stop("--file and --results are names of files", 2)
    form = "jsonl" if at.json else "csv"
    path = results or file.with_name(f"{file.stem}.results.{form}")
    if (at.json and not is_json(path)) or (at.csv and is_json(path)):
        stop(f"the name of the results says their form, and {path.name} says another", 2)
    return path


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
