"""Rows of a Parquet file, read by a process of its own that is bounded in memory and time.

The sizes in a Parquet file are claims: a few bytes may ask for gigabytes.  DuckDB reads them
where it can only end itself, and hands rows of text on as lines of JSON.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from cs.runtime.csv_records import LONGEST_LINE

#: Of the reading process: address space, and processor time for 10 million rows.
MOST_MEMORY = 640 << 20
MOST_CPU_S = 600
#: Bytes of one cell.
LONGEST_CELL = LONGEST_LINE
_BUFFERS = "256MB"
_BATCH = 2_000


class BadParquet(Exception):
    """The file cannot be read, for the reason that the message names."""


#: What a line says: the cells of a row, what is wrong with a row, or ``{"end": why}``, the last
#: line, where *why* is ``null`` if all was read.
Said = list[str | None] | str | dict[str, str | None]

_decode = msgspec.json.Decoder(Said).decode


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of *path*.

    Raises:
        BadParquet: It cannot be read within the bounds.
    """
    return [name or "" for row in _lines(path) for name in row]


def parquet_rows(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, str | None] | str]:
    """Yield the *wanted* columns of each row of *path*, or what is wrong with the row.

    Raises:
        BadParquet: From here on it cannot be read within the bounds.
    """
    for row in _lines(path, *wanted):
        yield row if isinstance(row, str) else dict(zip(wanted, row, strict=True))


def _lines(path: Path, *wanted: str) -> Iterator[list[str | None] | str]:
    """Yield what a reading process writes."""
    with subprocess.Popen(  # noqa: S603  this module
        [sys.executable, "-P", "-m", __name__, str(path), *wanted],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None, "a pipe"
        try:
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break
                said = _decode(line)
                if not isinstance(said, dict):
                    yield said
                elif (why := said["end"]) is None:
                    return
                else:
                    raise BadParquet(why)
            raise BadParquet(
                f"cannot be read within {MOST_MEMORY >> 20} MiB of memory and {MOST_CPU_S} s: "
                "write it with smaller row groups, or save it as CSV"
            )
        finally:
            process.kill()


# What the reading process does.


def _read(path: str, wanted: Sequence[str]) -> None:
    import duckdb  # noqa: PLC0415  the importing process does not need it

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    bounds: dict[str, str | bool | int | float | list[str]]
    bounds = {"threads": 1, "memory_limit": _BUFFERS, "temp_directory": ""}
    try:
        db = duckdb.connect(config=bounds)
        columns = dict(
            row[:2]
            for row in db.execute("DESCRIBE SELECT * FROM read_parquet($1)", [path]).fetchall()
        )
        if not wanted:
            _write(list(columns))
        else:
            selected = ", ".join(_selected(name, columns[name]) for name in wanted)
            found = db.execute(f"SELECT {selected} FROM read_parquet($1)", [path])  # noqa: S608
            while batch := found.fetchmany(_BATCH):
                for row in batch:
                    wrong = next((each[1] for each in row if each[1]), None)
                    _write(wrong or [each[0] for each in row])
        _write({"end": None})
    except (MemoryError, duckdb.OutOfMemoryException):
        raise SystemExit(1) from None
    except duckdb.Error as error:
        # With rows, its message may repeat a cell.
        damaged = "damaged, or a text in it is not UTF-8: write it again, or save it as CSV"
        _write({"end": damaged if wanted else str(error).partition("\n")[0][:1_000]})


def _selected(name: str, kind: str) -> str:
    """Return the SQL of a pair: a cell as text, and what is wrong with it."""
    column = '"{}"'.format(name.replace('"', '""'))
    if kind == "BLOB" or kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION")):
        wrong = f"{column} IS NOT NULL"
        why = "'a cell holds a list, an object or bytes: give one text'"
        text = "NULL"
    else:
        wrong = f"strlen({column}::VARCHAR) > {LONGEST_CELL}"
        heading = name[:40].replace("'", "''")
        why = f"'{heading} has ' || strlen({column}::VARCHAR) || ' bytes, of {LONGEST_CELL}'"
        text = f"{column}::VARCHAR"
    # A pair, so that a cell that is too long is never copied out.
    return f"[CASE WHEN {wrong} THEN NULL ELSE {text} END, CASE WHEN {wrong} THEN {why} END]"


def _write(line: Said) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")


if __name__ == "__main__":
    _read(sys.argv[1], sys.argv[2:])
