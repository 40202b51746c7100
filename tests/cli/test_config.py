"""`cs config` and `cs sandbox`: what is in force, and files that are wrong."""

from pathlib import Path

import msgspec
import pytest

from cli.command import Here
from cs.settings import Settings


def test_every_setting_in_force_is_shown(
    here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CS_PORT", "9000")

    shown = here("config", "show", "--json", f"--data-dir={tmp_path}").rows[0]

    assert (*shown, "plugins") == Settings.__struct_fields__
    assert (shown["port"], shown["data_dir"]) == (9000, str(tmp_path))
    assert "\nport                9000\n" in here("config", "show").out


@pytest.mark.parametrize("command", [["config", "show"], ["config", "check"], ["serve"]])
def test_bad_settings_end_every_command_alike(
    here: Here, command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "cs.toml"
    file.write_text('port = "abc"')

    told = here(*command, f"--config={file}").told(2)

    assert told == f"settings file {file}: port: a whole number from 0 to 65535, not 'abc'"


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        (
            "CS_BRAND_SOURCES",
            "wikidata,nobody",
            "brand_sources: 'nobody' is not installed; the",
        ),
        ("CS_PEOPLE_SOURCES", "nobody", "people_sources: 'nobody' is not installed; there are"),
        ("CS_VERIFIERS", "nobody", "no verifier 'nobody'; installed are: smtp"),
    ],
)
def test_a_source_that_is_not_installed_is_told(
    here: Here, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, told: str
) -> None:
    monkeypatch.setenv(setting, value)

    assert told in here("config", "check").told(2)


def test_a_check_says_what_is_used_and_what_is_missing(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = here("config", "check", "--json").rows[0]
    assert used["verifiers"] == ["smtp"]
    assert used["advice"] == ["searxng_url is not set: there is nobody to ask for people"]

    monkeypatch.setenv("CS_SEARXNG_URL", "http://127.0.0.1:8888")
    monkeypatch.setenv("CS_BRAND_SOURCES", "directory")
    used = here("config", "check", "--json").rows[0]
    assert (used["advice"], used["brand_sources"]) == ([], ["directory"])


def test_the_world_is_listed_in_a_stable_shape(here: Here) -> None:
    rows = here("sandbox", "list", "--json").rows

    assert all(list(row) == ["brand", "domain", "outcome", "verified", "tags"] for row in rows)
    assert rows[0]["brand"] == "Veltrana"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not JSON"),
        ("{}", "Object missing required field `brands`"),
        (msgspec.json.encode({"brands": 5}).decode(), "Expected"),
    ],
)
@pytest.mark.parametrize("command", [["sandbox", "check"], ["sandbox", "list"]])
def test_a_bad_world_file_is_told(
    here: Here, tmp_path: Path, command: list[str], content: str, told: str
) -> None:
    world = tmp_path / "world.json"
    world.write_text(content)

    said = here(*command, str(world)).told()

    assert said.startswith(f"{world}: ")
    assert told in said


def test_a_world_that_is_not_there_is_told(here: Here, tmp_path: Path) -> None:
    world = tmp_path / "none.json"

    assert here("sandbox", "check", str(world)).told() == (
        f"{world}: cannot be read: No such file or directory"
    )
