"""The file of a list's results: CSV, a line a person, or JSON, a line a brand."""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from cs.cli.brand_list.journal import RowState
from cs.cli.contact_rows import COLUMNS, rows
from cs.cli.output import as_csv, json_line
from cs.runtime.private_files import open_private

_ASKED = ("row", "asked_brand", "asked_domain", "error")


def is_json(path: Path) -> bool:
    """Return whether results at *path* are lines of JSON; else they are CSV."""
    return path.suffix in {".jsonl", ".json"}


class Results(AbstractContextManager["Results"]):
    """The results at *path*; use as ``with``.  An older file is replaced, all or nothing.

    Args:
        path: ``.jsonl`` or ``.json`` makes lines of JSON, anything else CSV.
        finished: Rows that are finished already.
    """

    def __init__(self, path: Path, finished: Iterable[RowState]) -> None:
        self._json = is_json(path)
        new_path = path.with_name(f"{path.name}.new")
        with open_private(new_path, "wb") as new:
            new.write(b"" if self._json else as_csv([(*_ASKED, *COLUMNS)]))
            new.writelines(self._encoded(each) for each in finished)
            new.flush()
            os.fsync(new.fileno())
        new_path.replace(path)
        self._file = path.open("ab")

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, finished: RowState) -> None:
        self._file.write(self._encoded(finished))
        self._file.flush()

    def _encoded(self, state: RowState) -> bytes:
        row, search, error = state.row, state.found or state.other, state.error
        assert row is not None, "a row is finished with its line"
        if self._json:
            asked = {"row": row.number, "brand": row.brand, "domain": row.domain}
            came = {"search": search} if error is None else {"error": error}
            return json_line({**asked, **came})
        problem = "" if error is None else f"{error.code}: {error.message}"
        columns_before = [str(row.number), row.brand or "", row.domain or "", problem]
        people = rows(search) if search is not None else [[""] * len(COLUMNS)]
        return as_csv([*columns_before, *cells] for cells in people)
