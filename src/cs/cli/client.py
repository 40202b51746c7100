"""``cs search``, ``cs get``, ``cs usage``: against any server of this API."""

from typing import Annotated, Any, NoReturn

from cyclopts import Parameter

from cs.cli.options import Json
from cs.cli.output import FAILED, LIMITED, NO_QUOTA, console, errors, print_json, stop
from cs.cli.record_view import print_record
from cs.client.api import CallFailed, Client

Url = Annotated[
    str, Parameter(env_var="CS_URL", help="Base address, with the version (CS_URL).")
]
Key = Annotated[str, Parameter(env_var="CS_API_KEY", help="API key (CS_API_KEY).")]
HERE = "http://127.0.0.1:8080/v1"


def search(
    brand: Annotated[str | None, Parameter(help="The name people say.")] = None,
    /,
    *,
    domain: Annotated[str | None, Parameter(help="The brand's web site.")] = None,
    key: Key = "",
    url: Url = HERE,
    json: Json = False,
) -> None:
    """Search the people of a brand; wait for the end and print them.

    Exit codes: 0 done, 3 failed, 4 refused by a limit, 5 out of quota.

    Example: `CS_API_KEY=cs_live_... cs search Veltrana --domain veltrana.test`
    """
    if brand is None and domain is None:
        stop("name a brand, a --domain or both", 2)
    record: dict[str, Any] = {}
    try:
        with _client(url, key) as client, errors.status("searching ...") as status:
            record = client.start(brand, domain)
            record = client.wait(record, lambda s: status.update(f"searching, {s:.0f} s ..."))
    except (CallFailed, KeyboardInterrupt) as ended:
        if record:
            errors.print(f"{record['id']} goes on without us: cs get {record['id']}")
        if isinstance(ended, CallFailed):
            _stop(ended)
        raise
    _show(record, json=json)
    if record["status"] == "failed":
        raise SystemExit(FAILED)


def get(
    search_id: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    key: Key = "",
    url: Url = HERE,
    json: Json = False,
) -> None:
    """Read a search again, as it is now; free.

    Example: `cs get srch_yg2vnp75fv9fazbxhr4fyb0qgm --json`
    """
    try:
        with _client(url, key) as client:
            record = client.get(search_id)
    except CallFailed as failed:
        _stop(failed)
    _show(record, json=json)


def usage(*, key: Key = "", url: Url = HERE, json: Json = False) -> None:
    """Show how many searches the key has made and may still make; free.

    Example: `CS_API_KEY=cs_live_... cs usage`
    """
    try:
        with _client(url, key) as client:
            found = client.usage()
    except CallFailed as failed:
        _stop(failed)
    if json:
        print_json(found)
    else:
        console.print("used {used} of {quota}, {remaining} left".format(**found))


def _client(url: str, key: str) -> Client:
    if not key:
        stop("no API key: give --key or set CS_API_KEY; `cs keys create` makes one", 2)
    return Client(url, key)


def _show(record: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(record)
    else:
        print_record(record)


def _stop(failed: CallFailed) -> NoReturn:
    code = {402: NO_QUOTA, 429: LIMITED, 503: LIMITED}.get(failed.status, 1)
    wait = f" (try again in {failed.retry_after_s} s)" if failed.retry_after_s else ""
    stop(f"{failed.code}: {failed}{wait}", code)
