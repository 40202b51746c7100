"""What the cache of jars refuses; the downloads here are a script's, from nowhere."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.servers.kafka_jars import kafka_jars
from harness.servers.missing import Missing

CONTENT = b"the jar"

#: Stands where Maven does: notes that it was called and leaves the jar it was written with.
MAVEN = """\
#!/bin/sh
echo called >> {calls}
for word; do case "$word" in -DoutputDirectory=*) lib="${{word#*=}}";; esac; done
printf '{content}' > "$lib/thing-1.0.jar"
exit {code}
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    file = tmp_path / "things-1.0.sha256"
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    file.write_text(f"{sha256}  org/example/thing/1.0/thing-1.0.jar\n")
    return file


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a Maven on PATH; where it fails nothing else can be reached either."""

    def put(content: bytes = CONTENT, code: int = 0) -> Path:
        calls = tmp_path / "calls"
        program = tmp_path / "bin" / "mvn"
        program.parent.mkdir()
        program.write_text(MAVEN.format(calls=calls, content=content.decode(), code=code))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", "")
        return calls

    return put


def test_jars_are_downloaded_once_whoever_asks(
    tmp_path: Path, listed: Path, maven: Callable[..., Path]
) -> None:
    calls = maven()
    cache = tmp_path / "cache" / "things"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: kafka_jars(cache, listed), range(4)))

    assert found == [cache] * 4
    assert [file.name for file in cache.iterdir()] == ["thing-1.0.jar"]
    assert calls.read_text() == "called\n"


def test_a_changed_jar_in_the_cache_is_refused(tmp_path: Path, listed: Path) -> None:
    cache = tmp_path / "things"
    cache.mkdir()
    (cache / "thing-1.0.jar").write_bytes(CONTENT + b"!")

    with pytest.raises(Missing, match=r"thing-1\.0\.jar.*Remove the folder"):
        kafka_jars(cache, listed)


def test_a_jar_that_is_not_listed_is_refused(tmp_path: Path, listed: Path) -> None:
    cache = tmp_path / "things"
    cache.mkdir()
    (cache / "thing-1.0.jar").write_bytes(CONTENT)
    (cache / "other-1.0.jar").write_bytes(b"")

    with pytest.raises(Missing, match=r"other-1\.0\.jar"):
        kafka_jars(cache, listed)


@pytest.mark.parametrize(("content", "code"), [(b"another jar", 0), (CONTENT, 1)])
def test_a_download_that_fails_leaves_no_cache(
    tmp_path: Path, listed: Path, maven: Callable[..., Path], content: bytes, code: int
) -> None:
    maven(content, code)
    cache = tmp_path / "cache" / "things"

    with pytest.raises(Missing, match="could not be downloaded") as told:
        kafka_jars(cache, listed)

    assert "CS_TEST_KAFKA" in str(told.value)
    assert [file.name for file in cache.parent.iterdir()] == ["things.lock"]


def test_what_an_interrupted_download_left_is_removed(
    tmp_path: Path, listed: Path, maven: Callable[..., Path]
) -> None:
    maven()
    cache = tmp_path / "cache" / "things"
    (cache.parent / "things.part-killed" / "lib").mkdir(parents=True)

    kafka_jars(cache, listed)

    assert {file.name for file in cache.parent.iterdir()} == {"things", "things.lock"}
