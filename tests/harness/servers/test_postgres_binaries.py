"""The account that root runs PostgreSQL as can get at its programs."""

import os
from pathlib import Path

import pytest

from harness.servers.postgres_binaries import Binaries, passable


@pytest.fixture
def programs(tmp_path: Path) -> Binaries:
    folder = tmp_path / "home" / "package" / "install" / "bin"
    folder.mkdir(parents=True)
    (folder / "postgres").write_text("#!/bin/sh\n")
    (folder / "postgres").chmod(0o755)
    (folder.parent / "lib").mkdir()
    (folder.parent / "lib" / "libpq.so").symlink_to("../../../package.libs/libpq.so.5")
    libraries = tmp_path / "home" / "package.libs"
    libraries.mkdir()
    (libraries / "libpq.so.5").write_text("one")
    return Binaries(18, folder)


def test_programs_below_a_closed_folder_are_laid_where_others_may_pass(
    programs: Binaries, tmp_path: Path
) -> None:
    (tmp_path / "home").chmod(0o700)

    laid = passable(programs, tmp_path / "laid")

    assert laid.folder.is_relative_to(tmp_path / "laid")
    assert os.access(laid.folder / "postgres", os.X_OK)
    library = laid.folder.parent / "lib" / "libpq.so"
    assert library.read_text() == "one"
    assert library.resolve().is_relative_to(tmp_path / "laid")


def test_programs_that_everybody_may_run_are_left_where_they_are(tmp_path: Path) -> None:
    system = Binaries(15, Path("/usr/bin"))

    assert passable(system, tmp_path / "other") == system
    assert not (tmp_path / "other").exists()
