"""The disk, files with keys, how many files may be open, and the clock."""

import resource
import shutil
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs import doctor as machine
from cs.doctor import (
    CLOSE_S,
    FAR_S,
    check_clock,
    check_disk,
    check_open_files,
    check_secret_file,
)

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_where_the_data_is_or_will_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "GiB free" in check_disk(tmp_path / "a" / "b").said
    assert check_disk(tmp_path / "file").state == "failed"
    found = check_disk(Path("/proc/data"))  # not even root may
    assert (found.state, "/proc cannot be written: " in found.said) == ("failed", True)


@pytest.mark.parametrize(("free", "state"), [(1, "failed"), (5, "warning"), (50, "ok")])
def test_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    there = shutil.disk_usage(tmp_path).free / machine.GIB
    share = there / free  # a disk of this size with the bounds in proportion
    monkeypatch.setattr(machine, "ENOUGH_BYTES", 10 * share * machine.GIB)
    monkeypatch.setattr(machine, "LITTLE_BYTES", 2 * share * machine.GIB)

    assert check_disk(tmp_path).state == state


def test_who_else_may_read_a_key(tmp_path: Path) -> None:
    closed, open_, gone = tmp_path / "closed", tmp_path / "open", tmp_path / "gone"
    closed.touch(0o600)
    open_.touch(0o600)
    open_.chmod(0o644)

    files = {"master_key_file": closed, "stages_key_file": open_, "kafka_key_file": gone}
    found = [check_secret_file(setting, path) for setting, path in files.items()]

    assert [each.state for each in found] == ["ok", "failed", "failed"]
    assert found[1].check == "file stages_key_file"
    assert found[1].advice == f"run: chmod 600 {open_}"
    assert "cannot be looked at: No such file" in found[2].said


def test_open_files() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert check_open_files(limit // 2).state == "ok" or limit < machine.FILES
    found = check_open_files(limit)
    assert (found.state, f"ulimit -n {2 * limit}" in str(found.advice)) == ("warning", True)


@given(st.integers(-10_000_000, 10_000_000))
def test_how_far_the_clock_is_off(seconds: int) -> None:
    date = format_datetime(NOW - timedelta(seconds=seconds), usegmt=True)

    found = check_clock(NOW, date, "the web")

    if abs(seconds) <= CLOSE_S:
        assert found.state == "ok"
    else:
        assert found.state == ("failed" if abs(seconds) > FAR_S else "warning")
        assert found.said.startswith(f"{abs(seconds):,} s ")
        assert ("ahead of" in found.said) == (seconds > 0)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 23 Nov 2026 12:00:00 -0000"])
def test_no_date_is_no_clock(date: str | None) -> None:
    assert check_clock(NOW, date, "the web").state == "not tried"
