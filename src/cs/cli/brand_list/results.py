"""The file of a list's results: CSV, a line a person, or JSON, a line a brand."""

import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from cs.cli.brand_list.entries import RowFinished
from cs.cli.contact_rows import COLUMNS, as_csv, rows
from cs.cli.foreign_text import json_line
from cs.runtime.private_files import open_private

_ASKED = ("row", "asked_brand", "asked_domain", "error")


def is_json(path: Path) -> bool:
    """Return whether results at *path* are lines of JSON; else they are CSV."""
    return path.suffix in {".jsonl", ".json"}


class Results:
    """Use as ``with``.  What is there is replaced by *ended* at once, or not at all.

    Args:
        path: ``.jsonl`` or ``.json`` makes lines of JSON, anything else CSV.
        ended: What is known already.
    """

    def __init__(self, path: Path, ended: Iterable[RowFinished]) -> None:
        self._json = is_json(path)
        new_path = path.with_name(f"{path.name}.new")
        with open_private(new_path, "wb") as new:
            new.write(b"" if self._json else as_csv([(*_ASKED, *COLUMNS)]))
            new.writelines(self._encoded(each) for each in ended)
            new.flush()
            os.fsync(new.fileno())
        new_path.replace(path)
        self._file = path.open("ab")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, ended: RowFinished) -> None:
        self._file.write(self._encoded(ended))
        self._file.flush()

    def _encoded(self, ended: RowFinished) -> bytes:
        row, search, error = ended.row, ended.search or ended.other, ended.error
        if self._json:
            asked = {"row": row.number, "brand": row.brand, "domain": row.domain}
            came = {"search": search} if error is None else {"error": error}
            return json_line({**asked, **came})
        problem = "" if error is None else f"{error.code}: {error.message}"
        columns_before = [str(row.number), row.brand or "", row.domain or "", problem]
        people = rows(search) if search is not None else [[""] * len(COLUMNS)]
        return as_csv([*columns_before, *cells] for cells in people)
