"""`cs new`: what it writes passes its own tests at once, whatever the kind."""

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cli.command import Here, environment
from plugins.installed import write_points

#: Words of the command, the folder that it makes, and where its entry point is found.
EVERY = [
    (["source", "acme-people"], "cs-source-acme-people", "cs.people_sources"),
    (["source", "shop", "--brands"], "cs-source-shop", "cs.brand_sources"),
    (["source", "none"], "cs-source-none", "cs.people_sources"),
    (["source", "service", "--brands"], "cs-source-service", "cs.brand_sources"),
    (["verifier", "oracle"], "cs-verifier-oracle", "cs.verifiers"),
    (["stage", "brand-resolution"], "cs-stage-brand-resolution", "cs.stages"),
    (["stage", "contact-discovery"], "cs-stage-contact-discovery", "cs.stages"),
    (["stage", "ranking"], "cs-stage-ranking", "cs.stages"),
    (["stage", "verification"], "cs-stage-verification", "cs.stages"),
    (["stage", "fifth"], "cs-stage-fifth", "cs.extra_stages"),
]
PUBLIC = (
    "cs.plugins.sources",
    "cs.plugins.verifiers",
    "cs.plugins.hosted",
    "cs.plugins.stages",
)
KIT = "cs.plugins.contracts."
#: The most that a source or verifier is written in.
ADAPTER_LINES = 40


@pytest.fixture
def written(here: Here, tmp_path: Path) -> Path:
    """Where every kind of package stands."""
    for words, folder, _ in EVERY:
        ran = here("new", *words, f"--into={tmp_path}", "--json")
        assert ran.code == 0, ran
        assert ran.rows[0]["folder"] == str(tmp_path / folder)
    return tmp_path


def test_each_is_a_package_whose_module_imports_only_what_is_public(written: Path) -> None:
    for words, folder, group in EVERY:
        project = tomllib.loads((written / folder / "pyproject.toml").read_text())["project"]
        ((name, place),) = project["entry-points"][group].items()
        assert name == words[1]
        module = place.partition(":")[0].replace(".", "/")
        source = written / folder / f"{module}.py"
        assert imported(source) <= set(PUBLIC), folder
        if not group.endswith("stages"):
            assert len(source.read_text().splitlines()) <= ADAPTER_LINES, folder
        (test,) = (written / folder / "tests").iterdir()
        for of_the_service in imported(test):
            assert of_the_service.startswith((*PUBLIC, KIT)), folder
        assert tomllib.loads((written / folder / "cs.toml").read_text())


def imported(file: Path) -> set[str]:
    """Return the modules of the service that *file* imports."""
    names = (
        node.module or ""
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
    )
    return {name for name in names if name.partition(".")[0] == "cs"}


def pytest_says(folder: Path, *more: str, **variables: str) -> str:
    """Return what pytest prints in *folder*, as it is where nobody has set anything."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", *more]
    run = subprocess.run(
        command,
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


@pytest.mark.slow
def test_the_tests_that_come_with_each_pass_at_once(written: Path) -> None:
    write_points(
        written / "cs-stage-fifth", {"cs.extra_stages": {"fifth": "cs_stage_fifth.row:ROW"}}
    )
    alone = pytest_says(written / "cs-source-acme-people")
    folders = [folder for _, folder, _ in EVERY]
    path = os.pathsep.join(str(written / folder) for folder in folders)
    together = pytest_says(written, *folders, PYTHONPATH=path)

    for printed in (alone, together):
        assert " passed" in printed, printed
        assert "failed" not in printed, printed
        assert "error" not in printed, printed


def test_nothing_is_overwritten_and_a_bad_name_is_reported(here: Here, tmp_path: Path) -> None:
    into = f"--into={tmp_path}"
    assert here("new", "verifier", "oracle", into).code == 0
    kept = tmp_path / "cs-verifier-oracle" / "README.md"
    kept.write_text("mine")

    for words, message in (
        (["verifier", "oracle"], "is there already: choose another name"),
        (["verifier", "Oracle"], "small letters and digits"),
        (["verifier", "../x"], "small letters and digits"),
        (["source", "a--b"], "small letters and digits"),
        (["source", "x" * 41], "up to 40"),
        (["source", "searxng"], "the people source searxng is installed already"),
        (["verifier", "smtp"], "the verifier smtp is installed already"),
        (["stage", "outcomes"], "a topic or a consumer group has that name"),
    ):
        ran = here("new", *words, into)
        assert ran.code in {1, 2}, words
        assert message in ran.err, words
    assert kept.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["cs-verifier-oracle"]


def test_a_table_of_settings_for_the_stage_to_come_is_no_obstacle(
    here: Here, tmp_path: Path
) -> None:
    settings = tmp_path / "cs.toml"
    settings.write_text('[stages.ranking]\nurl = "x"\n[stages.fifth]\nurl = "y"\n')

    for name in ("ranking", "fifth"):
        ran = here("new", "stage", name, f"--into={tmp_path}", CS_CONFIG=str(settings))
        assert (ran.code, ran.err) == (0, "")


def test_a_folder_that_cannot_be_made_is_reported(here: Here, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    message = here("new", "verifier", "oracle", f"--into={tmp_path / 'file'}").error()

    assert message.endswith("cannot be made: Not a directory")
