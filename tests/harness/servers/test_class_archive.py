"""Kafka's classes are made ready once; the Java here is a script, but for the last test."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.servers.class_archive import class_archive
from harness.servers.kafka import Kafka
from harness.servers.kafka_jars import kafka_jars

#: Notes that it was called to make an archive, and makes one where *makes* is `cp`.
JAVA = """\
#!/bin/sh
for word; do case "$word" in
    -XX:SharedArchiveFile=*) echo made >> {calls}; {makes} "$0" "${{word#*=}}";;
esac; done
echo 'openjdk version "21"' >&2
"""


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    jars = tmp_path / "kafka-1"
    jars.mkdir()
    (jars / "kafka.jar").write_text("classes")
    return jars


def java(folder: Path, makes: str = "cp") -> Path:
    program = folder / "java"
    program.write_text(JAVA.format(calls=folder / "calls", makes=makes))
    program.chmod(0o755)
    return program


def some(into: Path) -> None:
    into.write_text("java/lang/Object\n")


def test_it_is_made_once_by_whoever_comes_first(jars: Path, tmp_path: Path) -> None:
    program = java(tmp_path)
    with ThreadPoolExecutor() as threads:
        made = set(threads.map(lambda _: class_archive(program, jars, some), range(4)))

    assert len(made) == 1
    assert made == set(tmp_path.glob("*.jsa"))
    assert (tmp_path / "calls").read_text() == "made\n"


def test_other_jars_have_another_and_the_old_one_goes(jars: Path, tmp_path: Path) -> None:
    program = java(tmp_path)
    before = class_archive(program, jars, some)

    (jars / "kafka.jar").write_text("other classes")
    after = class_archive(program, jars, some)

    assert after != before
    assert list(tmp_path.glob("*.jsa")) == [after]


def test_a_java_that_makes_none_starts_without(jars: Path, tmp_path: Path) -> None:
    assert class_archive(java(tmp_path, makes=":"), jars, some) is None
    assert class_archive(java(tmp_path), jars, lambda _: None) is None
    left = {file.name for file in tmp_path.glob("kafka-1*")}
    assert left == {"kafka-1", "kafka-1.classes.lock"}


def test_a_broker_runs_on_the_archive(own_kafka: Kafka) -> None:
    process = own_kafka.brokers[0].process

    assert process is not None
    mapped = Path(f"/proc/{process.pid}/maps").read_text()
    assert f"/{kafka_jars().name}-" in mapped, "only what Java itself brings, if anything"
