"""``cs search``, ``cs get``, ``cs usage``: against any server of this API."""

import uuid
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec
from cyclopts import Parameter

from cs.cli.brand_list.command import ListRequest, default_results, search_list
from cs.cli.brand_list.results import is_json
from cs.cli.client_errors import describe, exit_code
from cs.cli.contact_rows import print_csv
from cs.cli.exit_codes import FAILED
from cs.cli.foreign_text import harmless
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, stop, warn
from cs.cli.progress import Progress
from cs.cli.record_view import print_record
from cs.client import (
    Client,
    ClientError,
    Failed,
    Other,
    Patience,
    Running,
    Search,
    Unsendable,
)

Url = Annotated[
    str, Parameter(env_var="CS_URL", help="Base address, with the version (CS_URL).")
]
Key = Annotated[str, Parameter(env_var="CS_API_KEY", help="API key (CS_API_KEY).")]
HERE = "http://127.0.0.1:8080/v1"
#: Seconds that a command waits for a limit, or for a server that is unwell.
PATIENCE_S = 65
Patient = Annotated[
    int,
    Parameter(name="--patience", help="Longest wait for a limit or an unwell server, in s."),
]


def search(
    brand: Annotated[str | None, Parameter(help="The name people say.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    file: Annotated[
        Path | None,
        Parameter(help="Search a list: CSV of brand, domain; .txt: one brand a line."),
    ] = None,
    results: Annotated[
        Path | None, Parameter(help="Where a list's results go: .csv or .jsonl.")
    ] = None,
    wait: Annotated[
        bool, Parameter(negative="--no-wait", help="Wait for the end of the search.")
    ] = True,
    json: Json = False,
    csv: Annotated[bool, Parameter(negative="", help="Print CSV, one line a person.")] = False,
    idempotency_key: Annotated[
        str, Parameter(help="Names this search: asked again, it is charged once.")
    ] = "",
    ask_again: Annotated[
        bool,
        Parameter(
            negative="",
            help="List: ask again what was lost over 23 hours ago; may be charged again.",
        ),
    ] = False,
    retry_failed: Annotated[
        bool,
        Parameter(negative="", help="List: search again what the service could not finish."),
    ] = False,
    again: Annotated[
        bool,
        Parameter(negative="", help="List: search again what another --results has."),
    ] = False,
    estimate: Annotated[
        bool,
        Parameter(
            negative="",
            help="List: say what it will cost, beside the service's data; search nothing.",
        ),
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
    patience: Patient = PATIENCE_S,
    key: Key = "",
    url: Url = HERE,
) -> None:
    """Search the people of a brand; wait for the end and print them.

    With --file a whole list is searched, within the limits of the key. What is found goes
    to --results; run it again to go on where it stopped. Nothing is charged twice unless
    --ask-again says so; a list that was searched into other --results asks first, or needs
    --again. The list goes on after its key was rotated or the server moved.
    Where several exit codes apply, the first of 5, 4, 1, 3 is it.

    With --estimate an operator is told what the list will cost: brands answered from reuse,
    live searches, paid calls and money by whom the log has paid, charges, duration, and the
    caps that would stop it. It reads the service's data, and asks nobody.

    Example: `CS_API_KEY=cs_live_... cs search Veltrana --domain veltrana.test`
    """
    if json and csv:
        stop("--json or --csv, not both", 2)
    if estimate:
        if file is None or brand is not None or domain is not None or results is not None:
            stop("--estimate is of a list: name a --file, and nothing else to search", 2)
        from cs.cli.brand_list.estimate import estimate_list  # noqa: PLC0415  only for it
        from cs.cli.settings_in_force import settings  # noqa: PLC0415

        estimate_list(file, settings(config, data_dir=data_dir), json=json)
        return
    if data_dir is not None or config is not None:
        stop("--data-dir and --config belong to --estimate; a search goes to --url", 2)
    if file is not None:
        if brand is not None or domain is not None or idempotency_key or not wait:
            stop("--file takes the brands from the file: name no other, and wait", 2)
        if not file.name or (results is not None and not results.name):
            stop("--file and --results are names of files", 2)
        path = results or default_results(file, json=json)
        if (json and not is_json(path)) or (csv and is_json(path)):
            stop(f"the name of the results says their form, and {path.name} says another", 2)
        request = ListRequest(
            file, path, ask_again=ask_again, retry_failed=retry_failed, again=again
        )
        with Progress() as progress, _client(url, key, patience, progress) as client:
            search_list(request, client, progress, identity=f"{url.rstrip('/')} {key}")
        return
    if results is not None or ask_again or retry_failed or again:
        stop("--results, --ask-again, --retry-failed and --again belong to --file", 2)
    if brand is None and domain is None:
        stop("name a brand, a --domain or both, or a whole list with --file", 2)
    name = idempotency_key or str(uuid.uuid4())
    with Progress() as progress, _client(url, key, patience, progress) as client:
        progress.show(f"searching {brand or domain}")
        ask = client.contacts.search if wait else client.contacts.start
        try:
            found = ask(brand, domain=domain, idempotency_key=name)
        except ClientError as error:
            _stop(error, name)
        except KeyboardInterrupt:
            warn(f"the search may go on; ask for it with --idempotency-key={name}")
            raise
    _show(found, json=json, csv=csv)
    if isinstance(found, Failed | Other):
        raise SystemExit(FAILED)


def get(
    search_id: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    patience: Patient = PATIENCE_S,
    key: Key = "",
    url: Url = HERE,
    json: Json = False,
    csv: Annotated[bool, Parameter(negative="", help="Print CSV, one line a person.")] = False,
) -> None:
    """Read a search again, as it is now; free.

    Example: `cs get srch_yg2vnp75fv9fazbxhr4fyb0qgm --json`
    """
    if json and csv:
        stop("--json or --csv, not both", 2)
    with Progress() as progress, _client(url, key, patience, progress) as client:
        try:
            found = client.contacts.get(search_id)
        except ClientError as error:
            _stop(error)
    _show(found, json=json, csv=csv)


def usage(
    *, patience: Patient = PATIENCE_S, key: Key = "", url: Url = HERE, json: Json = False
) -> None:
    """Show how many searches the key has made and may still make; free.

    Example: `CS_API_KEY=cs_live_... cs usage`
    """
    with Progress() as progress, _client(url, key, patience, progress) as client:
        try:
            found = client.usage()
        except ClientError as error:
            _stop(error)
    if json:
        print_json(found)
    else:
        console.print(f"used {found.used} of {found.quota}, {found.remaining} left")


def _client(url: str, key: str, patience_s: int, progress: Progress) -> Client:
    if not key:
        stop("no API key: give --key or set CS_API_KEY; `cs keys create` makes one", 2)
    if patience_s < 0:
        stop(f"--patience: a whole number of seconds from 0, not {patience_s}", 2)
    most = Patience(
        longest_s=patience_s,
        total_s=4 * patience_s,
        tries=Patience().tries if patience_s else 1,
    )
    try:
        return Client(url, key, patience=most, sleep=progress.sleep)
    except ClientError as error:
        _stop(error)


def _show(found: Search, *, json: bool, csv: bool) -> None:
    if json:
        print_json(found)
    elif csv:
        print_csv(found)
    else:
        print_record(msgspec.to_builtins(found))


def _stop(error: ClientError, name: str = "") -> NoReturn:
    if isinstance(error, Unsendable):
        stop(str(error), 2)
    if isinstance(error.search, Running):
        search = harmless(error.search.id)
        warn(f"{search} goes on without us: cs get {search}")
    elif error.in_doubt:
        warn(f"the search may go on; ask for it with --idempotency-key={name}")
    stop(describe(error), exit_code(error))
