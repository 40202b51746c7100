"""The jars of Apache Kafka: downloaded once, kept outside the repository, checked every time.

`kafka-4.3.1.sha256` lists them by their place in a Maven repository, so that nothing is
resolved here: what is not in the list is not downloaded, and what differs is not run.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.servers.missing import Missing

_LIST = Path(__file__).with_name("kafka-4.3.1.sha256")


@dataclass(frozen=True)
class _Jar:
    """One line of the list: a SHA-256 in hex and a path in a Maven repository."""

    line: str

    @property
    def sha256(self) -> str:
        return self.line.split()[0]

    @property
    def coordinates(self) -> tuple[str, str, str]:
        """Group, name and version."""
        *group, name, version, _file = self.line.split()[1].split("/")
        return ".".join(group), name, version

    @property
    def file(self) -> str:
        _, name, version = self.coordinates
        return f"{name}-{version}.jar"


def kafka_jars() -> Path:
    """Return a folder with the listed jars and nothing else, downloaded if it is not there.

    It is `CS_KAFKA_CACHE`, or one in the user's cache folder.  Of processes that want it at
    the same moment one downloads, the others wait.

    Raises:
        Missing: It cannot be downloaded, or a jar is not the one that was listed.
    """
    cache = _cache()
    jars = [_Jar(line) for line in _LIST.read_text().splitlines()]
    cache.parent.mkdir(parents=True, exist_ok=True)
    with cache.with_name(f"{cache.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not cache.exists():
            _download(jars, cache)
        _check(jars, cache)
    return cache


def _cache() -> Path:
    given = os.environ.get("CS_KAFKA_CACHE")
    if given:
        return Path(given)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "contact-search" / _LIST.stem


def _download(jars: list[_Jar], cache: Path) -> None:
    """Fill a folder next to *cache*, then rename it: no other process sees half a cache."""
    drafts = f"{cache.name}.part-"
    for left in cache.parent.glob(f"{drafts}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=drafts, dir=cache.parent) as draft:
        lib = Path(draft) / "lib"
        lib.mkdir()
        try:
            _download_into(lib, jars)
        except (OSError, RuntimeError) as error:  # of requests, and jgo's own
            raise Missing(
                f"The jars of Kafka could not be downloaded to {cache}: {error}. Is the network"
                " there? With CS_TEST_KAFKA=host:port, tests use a Kafka that already runs."
            ) from error
        _check(jars, lib)
        lib.replace(cache)


def _download_into(lib: Path, jars: list[_Jar]) -> None:
    """Download *jars* from Maven Central, and from the repositories of `~/.config/jgo.conf`."""
    from jgo.config import GlobalSettings  # noqa: PLC0415  slow to import, and needed once
    from jgo.maven import MavenContext  # noqa: PLC0415

    context = MavenContext(repo_cache=lib.with_name("repository"), local_repos=[])
    context.remote_repos |= GlobalSettings.load().repositories
    for jar in jars:
        group, name, version = jar.coordinates
        artifact = context.project(group, name).at_version(version).artifact()
        artifact.resolve().replace(lib / jar.file)


def _check(jars: list[_Jar], folder: Path) -> None:
    """Refuse a folder that is not exactly the listed jars."""
    listed = {jar.file: jar.sha256 for jar in jars}
    there = {file.name: _sha256(file) for file in folder.iterdir()}
    wrong = sorted(
        name for name in listed.keys() | there.keys() if listed.get(name) != there.get(name)
    )
    if wrong:
        raise Missing(
            f"{folder} is not what {_LIST.name} lists: {', '.join(wrong)} is missing, changed"
            f" or too much. Remove the folder, and it is downloaded again."
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
