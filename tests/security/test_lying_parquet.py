"""A Parquet file whose sizes are lies costs an import a bounded amount of memory."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import environment

#: A list of a million structs, in Thrift's compact protocol.
MILLION = b"\x19\xfc\xc0\x84\x3d"
#: Version, a schema of one text, no row; then row groups, of which the first has columns.
FOOTER = (
    b"\x15\x02\x19\x2c\x48\x04root\x15\x02\x00\x15\x0c\x25\x02\x18\x04name\x00\x16\x00"
    + MILLION
    + MILLION
)
#: Runs a command, and prints its exit code and the most memory that it and its own processes
#: had.  A process starts with the peak of the one that forked it, so a small one does.
MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "cs", *sys.argv[1:]], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
def test_a_footer_that_claims_a_million_columns_is_one_plain_error(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1" + FOOTER + struct.pack("<I", len(FOOTER)) + b"PAR1")
    assert path.stat().st_size < 100

    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, "directory", "import", str(path)],
        capture_output=True,
        text=True,
        env=environment(CS_DATA_DIR=str(tmp_path / "data")),
        check=False,
    )

    (line,) = ended.stderr.splitlines()
    code, peak_kib = map(int, ended.stdout.split())
    assert code == 1
    assert line.startswith(f"cs: {path}: cannot be read within 640 MiB")
    assert peak_kib < 640 * 1024
