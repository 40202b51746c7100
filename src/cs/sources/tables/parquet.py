"""Rows of a Parquet file, read by a process of its own that is bounded in memory and time.

The sizes in a Parquet file are claims: a few bytes may ask for gigabytes.  DuckDB reads them
where it can only end itself, and hands rows of text on as lines of JSON.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

import msgspec

from cs.runtime.csv_records import LONGEST_LINE

#: Of the reading process: address space, and processor time for 10 million rows.
MOST_MEMORY = 640 << 20
MOST_CPU_S = 600
#: Bytes of one cell.
LONGEST_CELL = LONGEST_LINE
_BUFFERS = "256MB"
_BATCH = 2_000
#: The exit code of a reader that has described in words what is wrong.
_DESCRIBED = 3


class BadParquet(Exception):
    """The file cannot be read, for the reason that the message names."""


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of *path*.

    Raises:
        BadParquet: It cannot be read within the bounds.
    """
    with _reader(path) as lines:
        return next(msgspec.json.decode(line, type=list[str]) for line in lines)


def parquet_rows(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, str | None] | str]:
    """Yield the *wanted* columns of each row of *path*, or what is wrong with the row.

    Raises:
        BadParquet: From here on it cannot be read within the bounds.
    """
    decoder = msgspec.json.Decoder(list[str | None] | str)
    with _reader(path, *wanted) as lines:
        for row in map(decoder.decode, lines):
            yield row if isinstance(row, str) else dict(zip(wanted, row, strict=True))


@contextmanager
def _reader(path: Path, *wanted: str) -> Iterator[Iterator[bytes]]:
    """Yield the lines that a reading process writes."""
    with (
        TemporaryFile() as problem,
        subprocess.Popen(  # noqa: S603  this module
            [sys.executable, "-P", "-m", __name__, str(path), *wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=problem,
        ) as process,
    ):
        assert process.stdout is not None, "a pipe"
        try:
            yield _until_it_ends(process, process.stdout)
        except _EndedBadly:
            problem.seek(0)
            described = problem.read(4_000).decode(errors="replace").strip()
            raise BadParquet(
                described
                if process.returncode == _DESCRIBED
                else f"cannot be read within {MOST_MEMORY >> 20} MiB of memory and "
                f"{MOST_CPU_S} s: write it with smaller row groups, or save it as CSV"
            ) from None
        finally:
            process.kill()


class _EndedBadly(Exception):
    """The reading process did not end by itself, or has described a problem."""


def _until_it_ends(
    process: "subprocess.Popen[bytes]", lines: Iterator[bytes]
) -> Iterator[bytes]:
    for line in lines:
        if not line.endswith(b"\n"):
            break
        yield line
    if process.wait() != 0:
        raise _EndedBadly


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
            return
        selected = ", ".join(_selected(name, columns[name]) for name in wanted)
        found = db.execute(f"SELECT {selected} FROM read_parquet($1)", [path])  # noqa: S608
        while batch := found.fetchmany(_BATCH):
            for row in batch:
                _write(next((each[1] for each in row if each[1]), [each[0] for each in row]))
    except (MemoryError, duckdb.OutOfMemoryException):
        raise SystemExit(1) from None
    except duckdb.Error as error:
        if wanted:  # the message may repeat a cell
            _describe(
                "damaged, or a text in it is not UTF-8: write it again, or save it as CSV"
            )
        _describe(str(error).partition("\n")[0])


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


def _describe(problem: str) -> NoReturn:
    sys.stderr.write(problem[:1_000])
    raise SystemExit(_DESCRIBED)


def _write(line: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")


if __name__ == "__main__":
    _read(sys.argv[1], sys.argv[2:])
