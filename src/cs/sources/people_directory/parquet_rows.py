"""Rows of Parquet, a batch at a time: what would fill the memory is told, not unpacked."""

from collections.abc import Mapping, Sequence
from typing import Any

from cs.runtime.csv_records import LONGEST_LINE

#: Bytes of one group of rows, unpacked, of the columns that are read: it is read as a whole.
MOST_GROUP_BYTES = 512 * 2**20
#: Bytes of one cell of Parquet; a longer one is of no person, whatever it is.
LONGEST_CELL = LONGEST_LINE


def too_large(metadata: Any, wanted: Sequence[str]) -> str | None:
    """Say which group of rows has more in the *wanted* columns than memory is for it."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = (group.column(n) for n in range(group.num_columns))
        size = sum(
            each.total_uncompressed_size
            for each in columns
            if any(f"{each.path_in_schema}.".startswith(f"{name}.") for name in wanted)
        )
        if size > MOST_GROUP_BYTES:
            return (
                f"row group {number + 1} has {size / 2**20:.0f} MiB of text, of "
                f"{MOST_GROUP_BYTES / 2**20:.0f}: write it with smaller groups, such as "
                "row_group_size=100000"
            )
    return None


def texts_in(schema: Any, wanted: Sequence[str]) -> list[str]:
    """Return which of the *wanted* columns hold texts, and no lists of them."""
    columns = (schema.column(n) for n in range(len(schema)))
    texts = {each.path for each in columns if each.physical_type == "BYTE_ARRAY"}
    return [name for name in wanted if name in texts]


def rows_of(batch: Any) -> Sequence[Mapping[str, Any] | str]:
    """Return the rows of *batch*, of each that cannot be read what is wrong with it."""
    told = _told_cells(batch)
    if not told:
        return _readable_rows(batch)
    left = [n for n in range(batch.num_rows) if n not in told]
    readable = iter(_readable_rows(batch.take(left)) if left else ())
    return [told[n] if n in told else next(readable) for n in range(batch.num_rows)]


def _told_cells(batch: Any) -> dict[int, str]:
    """Return by row what is wrong with a cell that is not to be unpacked."""
    # Imported here: they are large, and an extra.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    told: dict[int, str] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_nested(column.type):
            there = (n for n, valid in enumerate(column.is_valid().to_pylist()) if valid)
            told |= dict.fromkeys(there, "a cell holds a list or an object: give one text")
            continue
        coded = pa.types.is_dictionary(column.type)
        texts = column.dictionary if coded else column
        if pa.types.is_primitive(texts.type) or pa.types.is_null(texts.type):
            continue
        lengths = pc.binary_length(texts)
        if (pc.max(lengths).as_py() or 0) <= LONGEST_CELL:
            continue
        for n, length in enumerate(
            (lengths.take(column.indices) if coded else lengths).to_pylist()
        ):
            if length is not None and length > LONGEST_CELL:
                told[n] = f"{name[:40]} has {length} bytes, of {LONGEST_CELL}"
    return told


def _readable_rows(batch: Any) -> Sequence[Mapping[str, Any] | str]:
    try:
        found: Sequence[Mapping[str, Any]] = batch.to_pylist()
    except (ValueError, OverflowError) as error:
        if batch.num_rows > 1:
            return [
                row for n in range(batch.num_rows) for row in _readable_rows(batch.slice(n, 1))
            ]
        if isinstance(error, UnicodeError):
            return ["a text is not UTF-8, as those of Parquet are"]
        return ["a date or time that cannot be read: give it in whole microseconds"]
    return found
