from datetime import date
from pathlib import Path

import pytest

from cs.directory.person import DirectoryPerson
from cs.directory.store import DirectoryStatus
from cs.operations.erasure import DirectoryPrints
from cs.sources.people_directory import importing
from cs.sources.people_directory.importing import (
    LONGEST,
    PEOPLE,
    ImportCounts,
    Importing,
    row_of,
)
from cs.sources.tables.table_file import BadRow, TableFile
from harness.memory_directory import MemoryDirectory
from harness.memory_keys import MemoryKeyStore

TODAY, OLDEST = date(2026, 11, 23), date(2024, 11, 10)
FILE = """name,title,company,linkedin,email
Ada Kern,Head of Social,Acme,linkedin.com/in/ada,ada@acme.example
Ben Holt,CMO,Acme,linkedin.com/in/ben,
Ada Kern,VP,Acme,linkedin.com/in/ada,
nobody,CMO,Acme,,
Cam Roe,CMO,,,cam@bolt.example
"""


class Import:
    """Imports into one directory in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys = MemoryKeyStore()
        self.prints = DirectoryPrints(self.keys)
        self.directory = MemoryDirectory(b"k" * 32)
        self.told: list[tuple[int, str]] = []

    async def run(self, text: str = FILE, *, dry_run: bool = False) -> ImportCounts:
        self.path.write_text(text)
        self.told.clear()
        work = Importing(
            self.directory,
            self.prints,
            today=TODAY,
            oldest=OLDEST,
            dry_run=dry_run,
            on_refused=lambda line, why: self.told.append((line, why)),
        )
        await work.run(TableFile(self.path, PEOPLE))
        return work.counts


@pytest.fixture
def run(tmp_path: Path) -> Import:
    return Import(tmp_path / "people.csv")


async def test_rows_are_counted_and_the_same_file_changes_nothing(
    run: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)

    dry = await run.run(dry_run=True)
    nobody = await run.directory.status()
    done = await run.run()
    told = list(run.told)
    again = await run.run()

    assert dry == done == ImportCounts(rows=5, new=3, repeated=1, refused=1)
    assert nobody == DirectoryStatus()
    assert again == ImportCounts(rows=5, unchanged=3, repeated=1, refused=1)
    assert [line for line, _ in told] == [4, 5]
    assert "line 2" in told[0][1]
    assert await run.directory.status() == DirectoryStatus(3, TODAY, TODAY)


async def test_who_asked_to_be_forgotten_is_left_out(run: Import) -> None:
    await run.run()
    ada = await run.directory.get("profile:https://www.linkedin.com/in/ada")
    assert ada is not None
    await run.directory.clear()
    await run.keys.suppress(run.prints.of(ada)[1:])  # by the e-mail alone

    done = await run.run()

    assert done == ImportCounts(rows=5, new=2, repeated=1, suppressed=1, refused=1)
    assert "forgotten" in dict(run.told)[2]
    assert await run.directory.get(ada.known_as) is None


async def test_who_is_erased_while_a_batch_is_written_does_not_stay(
    run: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = run.directory.put

    async def erased_meanwhile(*args: object, **options: object) -> object:
        done = await put(*args, **options)  # type: ignore[arg-type]
        ada = await run.directory.get("profile:https://www.linkedin.com/in/ada")
        assert ada is not None
        await run.keys.suppress(run.prints.of(ada))
        return done

    monkeypatch.setattr(run.directory, "put", erased_meanwhile)

    await run.run()

    assert (await run.directory.status()).people == 2
    assert await run.directory.get("profile:https://www.linkedin.com/in/ada") is None


# Rows.

ROW_FIELDS = (
    *("full_name", "first_name", "last_name", "title", "company", "domain", "profile"),
    *("email", "city", "country", "as_of"),
)
PAGE = "https://www.linkedin.com/in/ada-kern"
GOOD: dict[str, object] = {"full_name": "Ada Kern", "company": "Acme", "profile": PAGE}


def read(**cells: object) -> DirectoryPerson:
    given = {field: cells.get(field) for field in ROW_FIELDS}
    return row_of(given, today=TODAY, oldest=OLDEST).person


def test_a_row_is_read_as_people_write_it() -> None:
    person = read(
        first_name=" Ada ",
        last_name="van  Kern",
        company="Acme Inc.",
        domain="https://www.Acme.example/shop?x",
        profile="de.linkedin.com/in/Ada-Kern/en",
        email="Ada.Kern@ACME.example",
        city="Berlin",
        country="Germany",
        as_of="2026-03-01T10:00:00+00:00",
    )

    assert person == DirectoryPerson(
        full_name="Ada van Kern",
        first_name="Ada",
        last_name="van Kern",
        company="Acme Inc.",
        domain="acme.example",
        profile=PAGE,
        email="ada.kern@acme.example",
        location="Berlin, Germany",
        as_of=date(2026, 3, 1),
    )


def test_what_says_nothing_is_left_out() -> None:
    for cells, field in (
        ({**GOOD, "domain": "https://www.linkedin.com/company/acme"}, "domain"),
        ({**GOOD, "domain": "acme.myshopify.com/x"}, "title"),
        ({**GOOD, "domain": "gmail.com"}, "domain"),
        ({**GOOD, "email": "email_not_unlocked@domain.com"}, "email"),
        ({**GOOD, "email": "N/A"}, "email"),
    ):
        assert getattr(read(**cells), field) is None, cells
    assert read(**GOOD).as_of == TODAY
    assert read(**{**GOOD, "as_of": date(2026, 1, 2)}).as_of == date(2026, 1, 2)


BAD: list[tuple[dict[str, object], str]] = [
    ({**GOOD, "full_name": " "}, "no name"),
    ({**GOOD, "full_name": "123"}, "no name"),
    ({**GOOD, "profile": None}, "neither"),
    ({**GOOD, "profile": "https://www.xing.com/profile/Ada"}, "no address of a LinkedIn"),
    ({**GOOD, "profile": "https://www.linkedin.com/sales/lead/ACw"}, "Sales Navigator"),
    ({**GOOD, "profile": "http://[::1"}, "no address of a LinkedIn"),
    ({**GOOD, "company": ""}, "no company"),
    ({**GOOD, "company": "", "email": "ada@gmail.com"}, "no company"),
    ({**GOOD, "email": "ada@"}, "e-mail is no address"),
    ({**GOOD, "domain": "not a domain"}, "web site"),
    ({**GOOD, "as_of": "03/04/2026"}, "one way only"),
    ({**GOOD, "as_of": "2027-01-01"}, "future"),
    ({**GOOD, "as_of": "2020-01-01"}, "longer ago"),
    ({**GOOD, "company": ["Acme"]}, "a list"),
    ({**GOOD, "company": b"Acme"}, "bytes"),
    ({**GOOD, "title": "R\udce9dacteur"}, "--encoding"),
    *[
        ({**GOOD, field: "x" * (most + 1)}, f"{field} has {most + 1} characters")
        for field, most in LONGEST.items()
        if field in ROW_FIELDS
    ],
]


def test_a_bad_row_says_what_to_do_and_names_nobody() -> None:
    for cells, told in BAD:
        with pytest.raises(BadRow, match=told) as refused:
            read(**cells)

        assert "Ada" not in str(refused.value)


def test_only_what_the_file_tells_of_is_given() -> None:
    cells = {"full_name": "Ada", "profile": PAGE, "company": "Acme", "city": "", "as_of": ""}

    row = row_of(cells, today=TODAY, oldest=OLDEST)

    assert row.given == {"full_name", "profile", "company", "location"}
