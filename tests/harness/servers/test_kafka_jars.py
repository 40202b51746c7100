"""The cache of Kafka's jars holds the listed files and nothing else."""

import hashlib
from pathlib import Path

import pytest

from harness.servers.kafka_jars import kafka_jars
from harness.servers.missing import Missing

CONTENT = b"the jar"


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    file = tmp_path / "things-1.0.sha256"
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    file.write_text(f"{sha256}  org/example/thing/1.0/thing-1.0.jar\n")
    return file


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({"thing-1.0.jar": CONTENT + b"!"}, "thing"),
        ({"thing-1.0.jar": CONTENT, "other-1.0.jar": b""}, "other"),
        ({}, "thing"),
    ],
    ids=["changed", "not listed", "missing"],
)
def test_a_cache_that_differs_from_the_list_is_refused(
    tmp_path: Path, listed: Path, files: dict[str, bytes], wrong: str
) -> None:
    cache = tmp_path / "things"
    cache.mkdir()
    for name, content in files.items():
        (cache / name).write_bytes(content)

    with pytest.raises(Missing, match=rf"{wrong}-1\.0\.jar.*Remove the folder"):
        kafka_jars(cache, listed)


def test_a_download_that_fails_leaves_no_cache(
    tmp_path: Path, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    cache = tmp_path / "cache" / "things"
    (cache.parent / "things.part-killed" / "lib").mkdir(parents=True)  # of an interrupted one

    with pytest.raises(Missing, match=r"could not be downloaded.*CS_TEST_KAFKA"):
        kafka_jars(cache, listed)

    assert [file.name for file in cache.parent.iterdir()] == ["things.lock"]
