"""``cs search --file``: a whole list, within the limits of the key, and only once."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cs.cli.brand_list.entries import RowReset
from cs.cli.brand_list.journal import BadJournal, Journal, hashed, searched_before
from cs.cli.brand_list.owner import check_owner
from cs.cli.brand_list.results import Results
from cs.cli.brand_list.rows import BadList, Row, read_rows
from cs.cli.brand_list.search import ListSearch
from cs.cli.client_errors import describe, exit_code
from cs.cli.exit_codes import FAILED
from cs.cli.output import console, stop, warn
from cs.cli.progress import Progress
from cs.client import Client, ClientError, Done, Failed

#: Reasons of failed searches that may be gone in a few minutes (contract text 7).
TRANSIENT = frozenset({"scrape_error", "timeout", "error"})


class ListRequest(msgspec.Struct, frozen=True):
    """A list to be searched.

    Attributes:
        path: The brands.
        results: What is found, rewritten from the journal beside it.
        ask_again: Ask anew for rows whose answer was lost too long ago to be found.
        retry_failed: Search rows anew that failed by no fault of theirs.
        again: Search what was searched before under another name of the results.
    """

    path: Path
    results: Path
    ask_again: bool = False
    retry_failed: bool = False
    again: bool = False

    @property
    def journal(self) -> Path:
        return self.results.with_name(f"{self.results.name}.journal")


def default_results(path: Path, *, json: bool) -> Path:
    """Return where the results of *path* go by default: ``brands.results.csv``."""
    return path.with_name(f"{path.stem}.results.{'jsonl' if json else 'csv'}")


def _utc_now() -> datetime:
    return datetime.now(UTC)


def search_list(
    request: ListRequest,
    client: Client,
    progress: Progress,
    *,
    identity: str,
    now: Callable[[], datetime] = _utc_now,
) -> None:
    """Search the list of *request* on *client*; end the command with how that went.

    Args:
        request: The list, and what to do about rows that were requested before.
        client: Of the server that *identity* names.
        progress: Shows how far it is.
        identity: Server and key; stored as a hash.
        now: The time of day, as *client* has it, for how long ago a row was requested.
    """
    try:
        rows = read_rows(request.path)
        _check_results(request)
        place = str(request.path.resolve())
        if not request.again and not request.journal.exists():
            _confirm_repeat(request, rows, place)
        with Journal(request.journal, hashed(identity), place) as journal:
            check_owner(journal, hashed(identity), client, ask_again=request.ask_again)
            if request.retry_failed:
                _reset_failed(journal, rows)
            with Results(request.results, journal.finished.values()) as results:
                search = ListSearch(rows, journal, results, now, ask_again=request.ask_again)
                stopped = search.run(client, progress)
    except KeyboardInterrupt:
        warn(f"what is found so far is in {request.results}; run it again to go on")
        raise
    except (BadList, BadJournal) as error:
        stop(str(error), 2)
    except ClientError as error:
        stop(describe(error), exit_code(error))
    except OSError as error:
        stop(f"{error.filename or request.results}: {error.strerror}")
    _finish(request, rows, journal, stopped)


def _confirm_repeat(request: ListRequest, rows: tuple[Row, ...], place: str) -> None:
    """End the command unless its user wants *rows* of another journal searched again.

    Raises:
        BadList: They were searched before, and there is no terminal to ask on.
    """
    given = {path.absolute().parent for path in (request.path, request.results)}
    folders = given | {Path.cwd()}
    others = [each for folder in sorted(folders) for each in sorted(folder.glob("*.journal"))]
    for journal in others:
        count = searched_before(journal, rows, place)
        if not count:
            continue
        results = journal.with_name(journal.name.removesuffix(".journal"))
        searched = f"{count} of {len(rows)} brands of this list were searched into {results}"
        if not sys.stdin.isatty():
            raise BadList(
                f"{searched}; --results {results} goes on there, --again searches them again, "
                "which may be charged again"
            )
        warn(f"{searched}; searching them again may be charged again")
        if input("search them again? [y/N] ").strip().casefold() not in {"y", "yes"}:
            stop(f"nothing was searched; --results {results} goes on there")
        return


def _reset_failed(journal: Journal, rows: tuple[Row, ...]) -> None:
    for key in (journal.key_of(row) for row in rows):
        search = journal.finished[key].search if key in journal.finished else None
        if isinstance(search, Failed) and search.reason in TRANSIENT:
            journal.append(RowReset(key))


def _check_results(request: ListRequest) -> None:
    if request.results.is_dir():
        raise BadList(f"{request.results} is a folder; name a file in it")
    if request.results.exists() and not request.journal.exists():
        raise BadList(
            f"{request.results} is there without {request.journal.name}, so what was asked "
            "for it is not known; move it away, or name other --results"
        )


def _finish(
    request: ListRequest, rows: tuple[Row, ...], journal: Journal, stopped: ClientError | None
) -> None:
    """Say how it went, and end with its exit code."""
    ends = [journal.finished.get(journal.key_of(row)) for row in rows]
    done = [e.search for e in ends if e is not None and isinstance(e.search, Done)]
    left = ends.count(None)
    failed = len(ends) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    console.print(f"{counts}: {request.results}")
    if stopped is not None:
        stop(f"{describe(stopped)}; run it again to go on", exit_code(stopped))
    if left:
        raise SystemExit(1)
    if failed:
        raise SystemExit(FAILED)
