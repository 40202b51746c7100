from datetime import date

import pytest

from cs.directory.person import DirectoryPerson
from cs.sources.people_directory.importing import LONGEST, row_of
from cs.sources.tables.table_file import BadRow

TODAY, OLDEST = date(2026, 11, 23), date(2024, 11, 10)
FIELDS = (
    *("full_name", "first_name", "last_name", "title", "company", "domain", "profile"),
    *("email", "city", "country", "as_of"),
)
PAGE = "https://www.linkedin.com/in/ada-kern"
GOOD = {"full_name": "Ada Kern", "company": "Acme", "profile": PAGE}


def read(**cells: object) -> DirectoryPerson:
    given = {field: cells.get(field) for field in FIELDS}
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


@pytest.mark.parametrize(
    ("cells", "told"),
    [
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
            if field in FIELDS
        ],
    ],
)
def test_a_bad_row_says_what_to_do_and_names_nobody(
    cells: dict[str, object], told: str
) -> None:
    with pytest.raises(BadRow, match=told) as refused:
        read(**cells)

    assert "Ada" not in str(refused.value)


def test_only_what_the_file_tells_of_is_given() -> None:
    cells = {"full_name": "Ada", "profile": PAGE, "company": "Acme", "city": "", "as_of": ""}

    row = row_of(cells, today=TODAY, oldest=OLDEST)

    assert row.given == {"full_name", "profile", "company", "location"}
