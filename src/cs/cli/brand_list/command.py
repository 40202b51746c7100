"""``cs search --file``: a whole list, within the limits of the key, and only once."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cs.cli.brand_list.journal import Again, BadJournal, Journal, hashed, searched_before
from cs.cli.brand_list.owner import check_owner
from cs.cli.brand_list.results import Results
from cs.cli.brand_list.rows import BadList, Row, read_rows
from cs.cli.brand_list.search import Searching
from cs.cli.exit_codes import FAILED
from cs.cli.output import console, stop, warn
from cs.cli.progress import Progress
from cs.cli.refusals import exit_code, told
from cs.client import Client, ClientError, Done, Failed

#: Reasons of failed searches that may be gone in a few minutes (contract text 7).
PASSING = frozenset({"scrape_error", "timeout", "error"})


class List(msgspec.Struct, frozen=True):
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


def results_beside(path: Path, *, json: bool) -> Path:
    """Return where the results of *path* go unless told: ``brands.results.csv``."""
    return path.with_name(f"{path.stem}.results.{'jsonl' if json else 'csv'}")


def _utc_now() -> datetime:
    return datetime.now(UTC)


def search_list(
    asked: List,
    client: Client,
    progress: Progress,
    *,
    identity: str,
    now: Callable[[], datetime] = _utc_now,
) -> None:
    """Search *asked* on *client*; end the command with how that went.

    Args:
        asked: The list.
        client: Of the server that *identity* names.
        progress: Hears how far it is.
        identity: Server and key; kept as a hash.
        now: The time of day, as *client* has it; tells how long ago a row was asked for.
    """
    try:
        rows = read_rows(asked.path)
        _check_known(asked)
        place = str(asked.path.resolve())
        if not asked.again and not asked.journal.exists():
            _ask_about_others(asked, rows, place)
        with Journal(asked.journal, hashed(identity), place) as journal:
            check_owner(journal, hashed(identity), client, ask_again=asked.ask_again)
            if asked.retry_failed:
                _note_again(journal, rows)
            with Results(asked.results, journal.ended.values()) as results:
                searching = Searching(rows, journal, results, now, ask_again=asked.ask_again)
                stopped = searching.all(client, progress)
    except KeyboardInterrupt:
        warn(f"what is found so far is in {asked.results}; run it again to go on")
        raise
    except (BadList, BadJournal) as error:
        stop(str(error), 2)
    except ClientError as error:
        stop(told(error), exit_code(error))
    except OSError as error:
        stop(f"{error.filename or asked.results}: {error.strerror}")
    _end(asked, rows, journal, stopped)


def _ask_about_others(asked: List, rows: tuple[Row, ...], place: str) -> None:
    """End the command unless its user wants *rows* of another journal searched again.

    Raises:
        BadList: They were searched before, and nobody can be asked.
    """
    folders = {path.absolute().parent for path in (asked.path, asked.results)} | {Path.cwd()}
    others = [each for folder in sorted(folders) for each in sorted(folder.glob("*.journal"))]
    for journal in others:
        count = searched_before(journal, rows, place)
        if not count:
            continue
        results = journal.with_name(journal.name.removesuffix(".journal"))
        told = f"{count} of {len(rows)} brands of this list were searched into {results}"
        if not sys.stdin.isatty():
            raise BadList(
                f"{told}; --results {results} goes on there, --again searches them again, "
                "which may be charged again"
            )
        warn(f"{told}; searching them again may be charged again")
        if input("search them again? [y/N] ").strip().casefold() not in {"y", "yes"}:
            stop(f"nothing was searched; --results {results} goes on there")
        return


def _note_again(journal: Journal, rows: tuple[Row, ...]) -> None:
    for key in (journal.key_of(row) for row in rows):
        search = journal.ended[key].search if key in journal.ended else None
        if isinstance(search, Failed) and search.reason in PASSING:
            journal.note(Again(key))


def _check_known(asked: List) -> None:
    if asked.results.is_dir():
        raise BadList(f"{asked.results} is a folder; name a file in it")
    if asked.results.exists() and not asked.journal.exists():
        raise BadList(
            f"{asked.results} is there without {asked.journal.name}, so what was asked "
            "for it is not known; move it away, or name other --results"
        )


def _end(
    asked: List, rows: tuple[Row, ...], journal: Journal, stopped: ClientError | None
) -> None:
    """Say how it went, and end with its exit code."""
    ends = [journal.ended.get(journal.key_of(row)) for row in rows]
    done = [e.search for e in ends if e is not None and isinstance(e.search, Done)]
    left = ends.count(None)
    failed = len(ends) - len(done) - left
    charged = sum(bool(search.charged) for search in done)
    counts = f"{len(done)} done, {failed} failed, {left} left; {charged} charged"
    console.print(f"{counts}: {asked.results}")
    if stopped is not None:
        stop(f"{told(stopped)}; run it again to go on", exit_code(stopped))
    if left:
        raise SystemExit(1)
    if failed:
        raise SystemExit(FAILED)
