"""Rules that matter for the image, and those of a linter where it can be had."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.compose_files import FOLDER, project
from deploy.dockerfile import stages
from harness.servers.missing import Missing

pytestmark = pytest.mark.slow

DOCKERFILE = FOLDER / "Dockerfile"
ROOT = FOLDER.parent
BUILD, FINAL = stages(DOCKERFILE)
INSTALLS = [
    command
    for stage in (BUILD, FINAL)
    for run in stage.all("RUN")
    for command in run.commands
    if re.search(r"\bpip\b.* install\b", command)
]


def test_the_service_runs_as_nobody_who_owns_anything() -> None:
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", FINAL.last("USER"))
    assert all("--chown" not in copy.words for copy in FINAL.all("COPY"))
    assert FINAL.instructions.index(FINAL.all("USER")[-1]) > FINAL.instructions.index(
        FINAL.all("COPY")[-1]
    )


def test_only_what_was_installed_gets_into_the_image() -> None:
    assert [copy.words for copy in FINAL.all("COPY")] == ["--from=build /opt/cs /opt/cs"]
    removes = " ".join(run.words for run in FINAL.all("RUN"))
    assert "pip uninstall --yes" in removes
    assert "rm -rf /usr/local/lib/python3.13/ensurepip" in removes
    assert FINAL.image.startswith("python:3.13."), "where ensurepip is"


def test_everything_is_installed_from_pinned_wheels() -> None:
    assert len(INSTALLS) == 3
    for command in INSTALLS:
        assert "--no-deps" in command
        assert "--no-index" in command or {"--require-hashes", "--only-binary"} <= {
            *command.split()
        }, command


def test_nothing_secret_is_built_in() -> None:
    said = " ".join(
        each.words
        for stage in (BUILD, FINAL)
        for name in ("ARG", "ENV", "LABEL")
        for each in stage.all(name)
    )

    assert not re.search(r"(?i)password|secret|token|_key", said)


def test_what_is_copied_is_what_the_build_is_sent() -> None:
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source
        for copy in BUILD.all("COPY")
        for source in copy.words.split()[:-1]  # the last one is where to
    }

    assert lines[1] == "*", "everything else stays"
    assert copied == sent
    assert [name for name in sent if not (ROOT / name).exists()] == []


def test_the_tag_and_the_label_are_the_version_of_the_package() -> None:
    told = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert told is not None

    assert FINAL.all("ARG")[0].words == f"VERSION={told[1]}"
    assert project()["services"]["api"]["image"] == f"contact-search:{told[1]}"


def test_a_linter_finds_nothing(hadolint: Path) -> None:
    checked = subprocess.run(
        [hadolint, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.fixture
def hadolint() -> Path:
    """The linter (a GPL program, run and never shipped), from the development packages."""
    beside = Path(sys.executable).parent / "hadolint"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("hadolint")
    if found is None:
        raise Missing("hadolint is not here; our own rules were checked all the same")
    return Path(found)
