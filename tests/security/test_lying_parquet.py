"""A Parquet file whose sizes are lies costs an import a bounded amount of memory."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import environment
from cs.sources.people_directory.parquet_rows import MOST_MEMORY

#: A list of a million structs, in Thrift's compact protocol.
MILLION = b"\x19\xfc\xc0\x84\x3d"
#: Version, a schema of one text, no row; then row groups, of which the first has columns.
FOOTER = (
    b"\x15\x02\x19\x2c\x48\x04root\x15\x02\x00\x15\x0c\x25\x02\x18\x04name\x00\x16\x00"
    + MILLION
    + MILLION
)


@pytest.mark.slow
def test_a_footer_that_claims_a_million_columns_is_one_plain_error(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1" + FOOTER + struct.pack("<I", len(FOOTER)) + b"PAR1")
    assert path.stat().st_size < 100

    with (tmp_path / "said").open("w+b") as said:
        command = subprocess.Popen(
            [sys.executable, "-m", "cs", "directory", "import", str(path)],
            stdout=said,
            stderr=said,
            env=environment(CS_DATA_DIR=str(tmp_path / "data")),
        )
        _, status, usage = os.wait4(command.pid, 0)  # with that of its own processes
        command.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        (line,) = said.read().decode().splitlines()

    assert command.returncode == 1
    assert line.startswith(f"cs: {path}: cannot be read within {MOST_MEMORY >> 20} MiB")
    assert usage.ru_maxrss * 1024 < MOST_MEMORY
