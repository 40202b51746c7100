"""Rows of a Parquet file, read by a process of its own that is bounded in memory and time.

The sizes in a Parquet file are claims: some bytes may ask for gigabytes.  The library that
reads them runs where it can only end itself, and hands rows of text on as lines of JSON.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import msgspec

from cs.runtime.csv_records import LONGEST_LINE

#: Of the reading process: address space, and processor time for 10 million rows.
MOST_MEMORY = 640 << 20
MOST_CPU_S = 600
#: Bytes of one cell of Parquet; a longer one is of no person, whatever it is.
LONGEST_CELL = LONGEST_LINE
_BATCH = 2_000
_BUFFER = 1 << 20
#: The exit code of a reader that has described in words what is wrong.
_DESCRIBED = 3


class BadParquet(Exception):
    """The file cannot be read, for the reason that the message names."""


def names_of(path: Path) -> list[str]:
    """Return the names of the columns of *path*.

    Raises:
        BadParquet: It cannot be read within the bounds.
    """
    with _reader(path) as lines:
        return next(msgspec.json.decode(line, type=list[str]) for line in lines)


def rows_of(path: Path, wanted: Sequence[str]) -> Iterator[Mapping[str, str | None] | str]:
    """Yield the *wanted* columns of each row of *path*, or what is wrong with the row.

    Raises:
        BadParquet: From here on it cannot be read within the bounds.
    """
    decoder = msgspec.json.Decoder(dict[str, str | None] | str)
    with _reader(path, *wanted) as lines:
        yield from map(decoder.decode, lines)


@contextmanager
def _reader(path: Path, *wanted: str) -> Iterator[Iterator[bytes]]:
    """Yield the lines that a reading process writes."""
    # Arrow's own allocators and each thread's arena reserve more than is ever used.
    bounded = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
    bounded |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_IO_THREADS": "1"}
    with (
        TemporaryFile() as problem,
        subprocess.Popen(  # noqa: S603  this module
            [sys.executable, "-P", "-m", __name__, str(path), *wanted],
            env={**os.environ, **bounded},
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
            said = problem.read(4_000).decode(errors="replace").strip()
            raise BadParquet(
                said
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
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        _describe(
            "Parquet needs pyarrow, which is not installed: "
            "pip install 'contact-search[analytics]', or save it as CSV"
        )
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    try:
        file = pq.ParquetFile(path, buffer_size=_BUFFER)
        if not wanted:
            _write([str(name) for name in file.schema_arrow.names])
            return
        for batch in file.iter_batches(_BATCH, columns=wanted, use_threads=False):
            for row in _rows_of(batch):
                _write(row)
    except MemoryError:  # pyarrow's own is both
        raise SystemExit(1) from None
    except (pa.ArrowException, OSError) as error:
        if "bad_alloc" in str(error):
            raise SystemExit(1) from None
        _describe(str(error))


def _describe(problem: str) -> NoReturn:
    sys.stderr.write(problem[:1_000])
    raise SystemExit(_DESCRIBED)


def _write(line: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")


def _rows_of(batch: Any) -> Sequence[Mapping[str, str | None] | str]:
    """Return the rows of *batch*, of each that cannot be read what is wrong with it."""
    told = _bad_cells(batch)
    if not told:
        return _readable_rows(batch)
    left = [n for n in range(batch.num_rows) if n not in told]
    readable = iter(_readable_rows(batch.take(left)) if left else ())
    return [told[n] if n in told else next(readable) for n in range(batch.num_rows)]


def _bad_cells(batch: Any) -> dict[int, str]:
    """Return by row what is wrong with a cell that is not to be unpacked."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    told: dict[int, str] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_nested(column.type):
            there = (n for n, valid in enumerate(column.is_valid().to_pylist()) if valid)
            told |= dict.fromkeys(there, "a cell holds a list or an object: give one text")
            continue
        texts = (
            column.cast(column.type.value_type)
            if pa.types.is_dictionary(column.type)
            else column
        )
        if pa.types.is_primitive(texts.type) or pa.types.is_null(texts.type):
            continue
        lengths = pc.binary_length(texts)
        if (pc.max(lengths).as_py() or 0) <= LONGEST_CELL:
            continue
        for n, length in enumerate(lengths.to_pylist()):
            if length is not None and length > LONGEST_CELL:
                told[n] = f"{name[:40]} has {length} bytes, of {LONGEST_CELL}"
    return told


def _readable_rows(batch: Any) -> Sequence[Mapping[str, str | None] | str]:
    try:
        return [_as_text(row) for row in batch.to_pylist()]
    except (ValueError, OverflowError) as error:
        if batch.num_rows > 1:
            return [
                row for n in range(batch.num_rows) for row in _readable_rows(batch.slice(n, 1))
            ]
        if isinstance(error, UnicodeError):
            return ["a text is not UTF-8, as those of Parquet are"]
        return ["a date or time that cannot be read: give it in whole microseconds"]


def _as_text(row: Mapping[str, Any]) -> Mapping[str, str | None] | str:
    if any(isinstance(value, bytes) for value in row.values()):
        return "a cell holds bytes: give one text"
    return {
        name: value.isoformat()
        if isinstance(value, date)
        else None
        if value is None
        else str(value)
        for name, value in row.items()
    }


if __name__ == "__main__":
    _read(sys.argv[1], sys.argv[2:])
