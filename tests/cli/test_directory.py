"""`cs directory` and `cs brands import`: files with faults, and what is known after."""

import stat
from pathlib import Path

import pytest

from cli.command import Here

pytestmark = pytest.mark.slow

ADA, BEN = "https://www.linkedin.com/in/ada-kern", "https://www.linkedin.com/in/ben-holt"
FILE = f"""First Name,Last Name,Function,Company,Person Linkedin Url,Email
Ada,Kern,Head of Social,Acme Inc.,{ADA},ada@acme.example
Ben,Holt,CMO,Acme,{BEN},nonsense
,,CMO,Acme,https://www.linkedin.com/in/nobody,
Cam,Roe,"Lead, with a quote,Acme,https://www.linkedin.com/in/cam,
Ada,Kern,Head of Social,Acme,{ADA},
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(FILE)
    return path


@pytest.fixture
def data(tmp_path: Path) -> tuple[str, str]:
    return ("--data-dir", str(tmp_path / "data"))


def test_a_file_is_imported_as_the_dry_run_said(
    here: Here, tmp_path: Path, file: Path, data: tuple[str, str]
) -> None:
    given = (str(file), "--column", "title=Function", *data)
    errors = tmp_path / "left-out.csv"

    dry = here("directory", "import", *given, "--dry-run", "--json")
    assert not (tmp_path / "data").exists()
    done = here("directory", "import", *given, "--json", "--errors", str(errors))
    again = here("directory", "import", *given)

    counts = {"rows": 5, "new": 1, "updated": 0, "unchanged": 0, "refused": 3, "repeated": 1}
    assert [each.code for each in (dry, done, again)] == [1, 1, 1]
    assert dry.rows[0].items() >= {**counts, "dry_run": True}.items()
    assert done.rows[0].items() >= counts.items()
    assert done.rows[0]["columns"]["title"] == "Function"
    assert [line for line, _ in done.rows[0]["problems"]] == [3, 4, 5, 6]
    assert stat.S_IMODE(errors.stat().st_mode) == 0o600
    lines = errors.read_text().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["line", "3", "4", "5", "6"]
    assert "Ben" not in errors.read_text()
    assert "columns: first_name from 'First Name'" in again.out
    assert again.out.index("columns:") < again.out.index("rows        5\nnew         0\n")
    assert "line 3: the e-mail is no address: mend it, or leave it empty" in again.err
    message = here("directory", "import", str(file), "--errors", str(errors), *data).error(2)
    assert "already exists" in message
    nowhere = str(tmp_path / "none" / "left-out.csv")
    message = here("directory", "import", str(file), "--errors", nowhere, *data).error(2)
    assert "cannot be written: there is no folder" in message


def test_people_are_listed_shown_and_removed(
    here: Here, file: Path, data: tuple[str, str]
) -> None:
    why = ("--reveal", "A check of the import, ticket 12")
    here("directory", "import", str(file), *data)

    listed = here("directory", "list", "--brand", "ACMÉ GmbH", "--json", *data)
    opened = here("directory", "list", "--brand", "acme.example", "--json", *why, *data)
    shown = here("directory", "show", "--profile", "linkedin.com/in/Ada-Kern", *data)
    whole = here("directory", "show", "--profile", ADA, "--json", *why, *data)
    noted = here("events", "export", "--type", "disclosure.made", *data)
    status = here("directory", "status", "--json", *data).rows
    refused = here("directory", "clear", *data).error(2)
    removed = here("directory", "remove", "--profile", ADA, *data)
    message = here("directory", "show", "--profile", ADA, *data).error()
    here("directory", "import", str(file), *data)
    cleared = here("directory", "clear", "--yes", "--json", *data)

    assert "Kern" not in listed.out + shown.out
    assert listed.rows[0]["company"] == "Acme Inc."
    assert opened.rows[0]["full_name"] == whole.rows[0]["full_name"] == "Ada Kern"
    assert whole.rows[0]["email"] == "ada@acme.example"
    assert noted.out.count("ticket 12") == 2
    assert status[0]["people"] == 1
    assert "removed" in removed.out
    assert "no person in the directory goes by that" in message
    assert "--yes" in refused
    assert cleared.rows == [{"removed": 1}]
    assert "no people yet" in here("directory", "status", *data).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("import", "{file}", "--column", "Function"), "FIELD=COLUMN"),
        (("import", "{file}", "--as-of", "yesterday"), "a day such as"),
        (("import", "{file}", "--as-of", "1999-01-01"), "since when people are kept"),
        (("show",), "--email or by --profile"),
        (("show", "--profile", "https://example.com/ada"), "a LinkedIn profile"),
        (("remove", "--email", "nobody"), "one address"),
        (("list", "--brand", "x"), "at least 2 characters"),
        (("list", "--brand", "Acme", "--limit", "0"), "--limit"),
        (("list", "--brand", "Acme", "--reveal", "why"), "--reveal"),
    ],
)
def test_a_mistake_on_the_command_line_is_reported(
    here: Here, file: Path, data: tuple[str, str], words: tuple[str, ...], message: str
) -> None:
    given = [word.format(file=file) for word in words]

    assert message in here("directory", *given, *data).error(2)


def test_a_file_that_cannot_be_read_is_reported(
    here: Here, file: Path, data: tuple[str, str]
) -> None:
    missing = here("directory", "import", str(file.with_name("none.csv")), *data)
    wrong = here("directory", "import", str(file), "--column", "title=Rolle", *data)
    no_brands = here("brands", "import", str(file), "--column=name=", *data)

    assert "No such file" in missing.error()
    assert "columns is called Rolle" in wrong.error()
    assert "lacks a column called name" in no_brands.error()


def test_companies_are_imported_as_the_dry_run_said_and_known_offline(
    here: Here, tmp_path: Path
) -> None:
    file, config = tmp_path / "open.csv", tmp_path / "cs.toml"
    file.write_text("name,website\nZephyrine Beaute,zephyrine.example\n,x.example\n")
    config.write_text(f'data_dir = "{tmp_path / "data"}"\n')
    of = ("--config", str(config))
    asked = ("resolve", "Zéphyrine Beauté", "--offline", "--json", *of)

    before = here(*asked).rows[0]
    dry = here("brands", "import", str(file), "--dry-run", "--json", *of)
    assert not list((tmp_path / "data").glob("brands*"))
    done = here("brands", "import", str(file), "--json", *of)
    again = here("brands", "import", str(file), *of)
    after = here(*asked).rows[0]

    counts = {"rows": 2, "new": 1, "updated": 0, "unchanged": 0, "refused": 1}
    assert [each.code for each in (dry, done, again)] == [1, 1, 1]
    assert dry.rows[0].items() >= {**counts, "dry_run": True}.items()
    assert done.rows[0].items() >= {**counts, "problems": [[3, "no name"]]}.items()
    assert done.rows[0]["columns"]["domain"] == "website"
    assert "unchanged   1\n" in again.out
    assert "line 3: no name" in again.err
    assert (before["status"], before["sources"]) == ("no_match", {"directory": "no_results"})
    assert (after["status"], after["domain"]) == ("matched", "zephyrine.example")
    assert after["sources"] == {"directory": "no_results", "imported": "used"}
