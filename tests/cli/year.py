"""The year of `cs demo --history`, made once for all tests of a run."""

import fcntl
from pathlib import Path

import pytest

from cli.command import started

#: At most; half a minute on a machine at rest.
MAKING_S = 400


@pytest.fixture(scope="session")
def year(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the data folder of the year; tests only read it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "year"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes first makes it
        if not folder.exists():
            with started("demo", "--history", "--data-dir", str(folder)) as making:
                told = making.communicate(timeout=MAKING_S)
            assert making.returncode == 0, told
    return folder
