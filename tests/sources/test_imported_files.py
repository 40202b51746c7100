"""Files of people, imported by the command: however they are written, and with every fault."""

import gzip
import os
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.command import Here

HEADER = "name,linkedin,company\n"
LINE = "Ada Kern,linkedin.com/in/ada,Acmé\n"
#: Characters of a line, and bytes of a cell, at most.
LONGEST = 64 * 1024
LIST = "a cell holds a list, an object or bytes: give one text"
REVEAL = ("--reveal", "A check of an import, ticket 12")


class Directory:
    """A directory of people in a folder of its own, and the files that it gets."""

    def __init__(self, here: Here, folder: Path) -> None:
        self._here, self.folder = here, folder
        self._data = f"--data-dir={folder / 'data'}"

    def read(self, content: bytes | str, *options: str, name: str = "a.csv") -> dict[str, Any]:
        """Import a file of *content*; return what is printed of it."""
        text = content.encode() if isinstance(content, str) else content
        (self.folder / name).write_bytes(text)
        return self.imported(self.folder / name, *options)

    def imported(self, path: Path, *options: str) -> dict[str, Any]:
        ran = self._here("directory", "import", str(path), "--json", *options, self._data)
        assert ran.rows, ran.err
        return ran.rows[0]

    def refused(self, path: Path, *options: str) -> str:
        """Import the file at *path*; return why it is refused as a whole."""
        return self._here("directory", "import", str(path), *options, self._data).error()

    def people(self, brand: str = "Acme") -> list[dict[str, Any]]:
        """Return who is found for *brand*."""
        return self._here(
            "directory", "list", f"--brand={brand}", "--json", *REVEAL, self._data
        ).rows


@pytest.fixture
def directory(here: Here, tmp_path: Path) -> Directory:
    return Directory(here, tmp_path)


def problems(done: dict[str, Any]) -> dict[int, str]:
    return {line: why for line, why in done["problems"] if line}


def test_tables_are_read_however_they_are_written(directory: Directory) -> None:
    text = HEADER + LINE
    for name, data, form in (
        ("a.csv", text.encode(), "commas, utf-8"),
        ("b.csv", b"\xef\xbb\xbf" + text.encode(), "commas, utf-8-sig"),
        ("c.csv", text.encode("utf-16"), "commas, utf-16"),
        ("d.csv", text.encode("utf-16-le"), "commas, utf-16-le"),
        ("e.csv", text.replace(",", ";").encode(), "semicolons, utf-8"),
        ("f.tsv", text.replace(",", "\t").encode(), "tabs, utf-8"),
        ("g.txt", text.replace("\n", "\r\n").encode(), "commas, utf-8"),
        ("h.csv.gz", gzip.compress(text.encode(), mtime=0), "commas, utf-8"),
    ):
        done = directory.read(data, name=name)

        fields = {"full_name": "name", "profile": "linkedin", "company": "company"}
        found = (done["form"], done["columns"], done["rows"], done["refused"])
        assert found == (f"CSV with {form}", fields, 1, 0)
    (ada,) = directory.people()
    assert (ada["full_name"], ada["company"]) == ("Ada Kern", "Acmé")


def test_the_line_that_names_the_columns_is_looked_for(directory: Directory) -> None:
    notes = 'Notes:\n"When exporting, you may see\nless."\n\n'
    bad = "nobody,,\n"
    linkedin = directory.read(f"{notes}{HEADER}{bad}")
    excel = directory.read(f"sep=;\n{(HEADER + bad).replace(',', ';')}")

    assert ([*problems(linkedin)], [*problems(excel)]) == ([6], [3])


def test_text_of_another_encoding_is_lost_only_where_it_is(directory: Directory) -> None:
    data = (HEADER + LINE).encode("cp1252") + b"Ben,linkedin.com/in/ben,Acme\n"
    guessed = directory.read(data)
    told = directory.read(data, "--encoding=cp1252")

    assert "--encoding" in problems(guessed)[2]
    assert (guessed["new"], told["new"], told["unchanged"]) == (1, 1, 1)
    assert {each["company"] for each in directory.people()} == {"Acmé", "Acme"}


def test_no_good_row_is_lost_to_a_bad_one(directory: Directory) -> None:
    done = directory.read(
        f'{HEADER}Al,"linkedin.com/in/open,c\n{LINE}\n  \n,,\nBo,"linkedin.com/in/bo",'
        f'"two\nlines"\nDi,linkedin.com/in/di,5" disc\n{"x" * LONGEST},x,y\n'
        f"Fy,g,h,i\nJo,linkedin.com/in/jo\nEd,linkedin.com/in/ed,Acme\n"
    )

    told = problems(done)
    assert [*told] == [2, 10, 11, 12]
    for line, why in {2: "quote", 10: "characters", 11: "4 cells for 3", 12: "company"}.items():
        assert why in told[line]
    assert done["new"] == 4


def test_json_lines_are_read_and_wrong_bytes_cost_their_line(directory: Directory) -> None:
    done = directory.read(
        '{"name":"Ada Kern","linkedin":"linkedin.com/in/ada","company":"Acme"}\n\n[1]\n'
        '{"name":\n{"name":"Ben","company":"Bolt","email":"b@bolt.test"}\n'
        f'"{"x" * LONGEST}"\n',
        name="a.jsonl",
    )
    lines = ('{"name":"Jürgen","email":"j@acme.test"}', '{"name":"Al","email":"a@acme.test"}')
    other = directory.read("\n".join(lines).encode("cp1252"), name="b.jsonl")

    assert done["form"] == "JSON lines, utf-8"
    assert (done["new"], [*problems(done)]) == (2, [3, 4, 6])
    assert "encoding" in problems(other)[1]
    assert other["new"] == 1


def parquet(directory: Directory, table: dict[str, Any], **options: Any) -> dict[str, Any]:
    path = directory.folder / "a.parquet"
    pq.write_table(pa.table(table), path, **options)
    return directory.imported(path)


def test_parquet_is_read_numbers_and_times_as_text(directory: Directory) -> None:
    known = pa.array([1_767_225_600_000_000_001, None, None], pa.timestamp("ns"))
    table = {"Name": ["Ada", "Ben", "Cam"], "Company": [1.5, 7, 7], "as of": known}
    mails = [f"{name}@acme.test" for name in "abc"]

    done = parquet(directory, table | {"email": mails, "LinkedIn": ["", None, None]})
    other = parquet(directory, table | {"email": mails, "LinkedIn": [b"", None, b"x"]})

    assert (done["form"], done["new"]) == ("Parquet", 3)
    people = {each["full_name"]: each for each in directory.people("acme.test")}
    assert (people["Ada"]["company"], people["Ada"]["as_of"]) == ("1.5", "2026-01-01")
    assert problems(other)[3] == LIST


def test_cells_of_parquet_that_would_fill_the_memory_cost_their_row_alone(
    directory: Directory,
) -> None:
    long = "x" * (LONGEST + 1)
    company = pa.array(["A", long, "A", "A", None, "é" * LONGEST]).dictionary_encode()
    table = {
        "Name": ["Ada", "Ben", None, long, "Eve", "Ed"],
        "LinkedIn": [f"linkedin.com/in/p{n}" for n in range(6)],
        "Company": company,
        "company.domain": [None, None, None, None, [long], None],
        "as of": [None, date(2026, 1, 1), None, None, None, None],
    }

    done = parquet(directory, table)

    assert done["new"] == 1
    assert list(problems(done).values()) == [
        "Company has 65537 bytes, of 65536",
        problems(done)[3],
        "Name has 65537 bytes, of 65536",
        LIST,
        "Company has 131072 bytes, of 65536",
    ]
    assert "no name" in problems(done)[3]


def test_a_text_of_parquet_that_is_repeated_is_not_unpacked(directory: Directory) -> None:
    count, good = 4_000, 200
    text = "x" * (1 << 20)  # 4 GiB if it was
    which = pa.array([0] * good + [1] * count, pa.int32())
    company = pa.DictionaryArray.from_arrays(which, ["Acme", text])
    names = ["Ada"] * (good + count)
    pages = [f"linkedin.com/in/a{n}" for n in range(good + count)]
    table = {"Name": names, "LinkedIn": pages, "Company": company}

    done = parquet(directory, table, store_schema=False)

    assert (done["new"], done["refused"]) == (good, count)
    assert set(problems(done).values()) == {"Company has 1048576 bytes, of 65536"}


def test_a_text_of_parquet_that_is_not_utf_8_is_one_error_that_repeats_no_cell(
    directory: Directory,
) -> None:
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 2, 4)))
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"J\xfcAl")])
    path = directory.folder / "a.parquet"
    pq.write_table(pa.table({"name": names, "email": ["j@acme.test", "al@acme.test"]}), path)

    message = directory.refused(path)

    assert "not UTF-8" in message
    assert "J" not in message.replace(str(path), "").replace("JSON", "")


def test_a_file_that_is_none_says_why(directory: Directory) -> None:
    lines = "".join(f"P{n},linkedin.com/in/p{n * 7919},C{n}\n" for n in range(5_000))
    for name, data, told in (
        ("a.csv", b"", "is empty"),
        ("a.csv", b"who,where\na,b\n", "lacks a column with the name"),
        ("a.csv", b"\x00\x01\x02\x03" * 60, "lacks"),
        ("a.csv", b"PK\x03\x04xxxx", "spreadsheet"),
        ("a.xlsx", b"whatever", "spreadsheet"),
        ("a.parquet", b"name,linkedin\n", "no Parquet file"),
        ("a.parquet", b"PAR1 and then nothing", "a.parquet"),
        ("a.json", b'[{"name":"Ada"}]', "an object a line"),
        ("a.jsonl", b"nothing\nof JSON\n", "lacks"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00 cut off", "a.csv.gz"),
        ("a.csv.gz", b"no gzip at all", "a.csv.gz"),
        ("later.csv.gz", gzip.compress((HEADER + lines).encode())[:-5_000], "later.csv.gz"),
    ):
        (directory.folder / name).write_bytes(data)
        assert told in directory.refused(directory.folder / name)
    (path := directory.folder / "b.csv").write_text(HEADER + LINE)
    assert "encoding" in directory.refused(path, "--encoding=klingon")
    os.truncate(path, (32 << 30) + 1)
    assert "larger" in directory.refused(path)
    assert "No such file" in directory.refused(directory.folder / "none.csv")


def test_a_file_of_too_many_lines_is_refused(
    directory: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.sources.tables.table_file.MOST_ROWS", 2)
    (path := directory.folder / "a.csv").write_text(HEADER + LINE * 3)

    assert "more than 2 lines" in directory.refused(path)


#: By header of a common export some of its columns.
EXPORTS: dict[str, dict[str, str]] = {
    "First Name,Last Name,URL,Email Address,Company,Position,Connected On": {
        "profile": "URL",
        "email": "Email Address",
        "title": "Position",
    },
    # Apollo
    "First Name,Last Name,Title,Company,Company Name for Emails,Email,Email Status,"
    "# Employees,Person Linkedin Url,Website,Company Linkedin Url,City,State,Country": {
        "company": "Company Name for Emails",
        "profile": "Person Linkedin Url",
        "domain": "Website",
        "city": "City",
        "country": "Country",
    },
    # HubSpot
    "Record ID,First Name,Last Name,Email,Phone Number,Job Title,Company Name,Website URL,"
    "LinkedIn URL,Last Modified Date,Preferred language": {
        "title": "Job Title",
        "domain": "Website URL",
        "profile": "LinkedIn URL",
        "as_of": "Last Modified Date",
        "language": "Preferred language",
    },
    # PhantomBuster, Evaboot, a plain list
    "profileUrl,defaultProfileUrl,fullName,firstName,lastName,companyName,title,location": {
        "full_name": "fullName",
        "profile": "defaultProfileUrl",
    },
    "First Name,Last Name,Current Job,Headline,Company Name,Company Domain,Email,Location,"
    "Linkedin URL,Company Linkedin URL": {
        "title": "Current Job",
        "headline": "Headline",
        "location": "Location",
    },
    "full_name,headline,company,domain,profile,e-mail,as of": {
        "full_name": "full_name",
        "email": "e-mail",
        "as_of": "as of",
    },
}


def test_columns_of_common_exports_are_known(directory: Directory) -> None:
    for header, expected in EXPORTS.items():
        found = directory.read(header + "\n", "--dry-run")
        assert expected.items() <= found["columns"].items()


def test_a_column_that_is_chosen_counts(directory: Directory) -> None:
    header = "Wer,Name,LinkedIn,Firma,Title\n"
    options = [f"--column={each}" for each in ("full_name=Wer", "company=firma", "title=")]

    found = directory.read(header, *options, "--dry-run")["columns"]

    assert found == {"full_name": "Wer", "profile": "LinkedIn", "company": "Firma"}
    path = directory.folder / "a.csv"
    assert "nick" in directory.refused(path, "--column=nick=Wer")
    assert "Rolle" in directory.refused(path, "--column=title=Rolle")


def test_what_is_lacking_is_said(directory: Directory) -> None:
    path = directory.folder / "a.csv"
    for header, field in {
        "linkedin,company": "full_name",
        "name,company": "profile",
        "name,linkedin": "company",
    }.items():
        path.write_text(header + "\n")
        assert f"--column {field}=" in directory.refused(path)
    assert directory.read("name,email\n", "--dry-run")["rows"] == 0


# Rows.

PAGE = "https://www.linkedin.com/in/ada-kern"
GOOD = {"name": "Ada Kern", "company": "Acme", "linkedin": PAGE}
COLUMNS = (
    *("name", "first name", "last name", "title", "company", "domain", "linkedin", "email"),
    *("city", "country", "as of"),
)


def table(*rows: dict[str, str]) -> str:
    cells = (",".join(f'"{row.get(column, "")}"' for column in COLUMNS) for row in rows)
    return "\n".join([",".join(COLUMNS), *cells]) + "\n"


def test_a_row_is_read_as_people_write_it(directory: Directory) -> None:
    directory.read(
        table(
            {
                "first name": " Ada ",
                "last name": "van  Kern",
                "company": "Acme Inc.",
                "domain": "https://www.Acme.example/shop?x",
                "linkedin": "de.linkedin.com/in/Ada-Kern/en",
                "email": "Ada.Kern@ACME.example",
                "city": "Berlin",
                "country": "Germany",
                "as of": "2026-03-01T10:00:00+00:00",
            }
        )
    )

    (person,) = directory.people()
    assert {name: value for name, value in person.items() if value is not None} == {
        "full_name": "Ada van Kern",
        "first_name": "Ada",
        "last_name": "van Kern",
        "company": "Acme Inc.",
        "domain": "acme.example",
        "profile": PAGE,
        "email": "ada.kern@acme.example",
        "location": "Berlin, Germany",
        "as_of": "2026-03-01",
    }


def test_what_says_nothing_is_left_out(directory: Directory) -> None:
    for cells, field in (
        ({"domain": "https://www.linkedin.com/company/acme"}, "domain"),
        ({"domain": "gmail.com"}, "domain"),
        ({"email": "email_not_unlocked@domain.com"}, "email"),
        ({"email": "N/A"}, "email"),
    ):
        assert directory.read(table(GOOD | cells))["refused"] == 0
        (person,) = directory.people()
        assert person[field] is None, cells


FREE = ("gmail.com", "hotmail.fr", "yahoo.co.uk", "web.de", "gmx.net", "orange.fr")
FIRMS = ("orange.com", "bol.com", "mail.acme.example", "live.acme.example", "web.com")
BAD: list[tuple[dict[str, str], str]] = [
    ({**GOOD, "name": " "}, "no name"),
    ({**GOOD, "name": "123"}, "no name"),
    ({**GOOD, "linkedin": ""}, "neither"),
    ({**GOOD, "linkedin": "https://www.xing.com/profile/Ada"}, "no address of a LinkedIn"),
    ({**GOOD, "linkedin": "https://www.linkedin.com/sales/lead/ACw"}, "Sales Navigator"),
    ({**GOOD, "linkedin": "http://[::1"}, "no address of a LinkedIn"),
    ({**GOOD, "company": ""}, "no company"),
    *[({**GOOD, "company": "", "email": f"ada@{host}"}, "no company") for host in FREE],
    ({**GOOD, "email": "ada@"}, "e-mail is no address"),
    ({**GOOD, "domain": "not a domain"}, "web site"),
    ({**GOOD, "as of": "03/04/2026"}, "one way only"),
    ({**GOOD, "as of": "2999-01-01"}, "future"),
    ({**GOOD, "as of": "2020-01-01"}, "longer ago"),
    ({**GOOD, "title": "R\udce9dacteur"}, "--encoding"),
    *[
        ({**GOOD, column: "x" * (most + 1)}, f"has {most + 1} characters")
        for column, most in {"name": 150, "title": 300, "linkedin": 300, "email": 254}.items()
    ],
]


def test_a_bad_row_says_what_to_do_and_names_no_person(directory: Directory) -> None:
    good = [{"name": f"Jo {n}", "email": f"jo{n}@{host}"} for n, host in enumerate(FIRMS * 5)]
    wrong = []
    for bad in (BAD[:13], BAD[13:]):  # of many problems twenty are listed
        text = table(*good, *(cells for cells, _ in bad)).encode("utf-8", "surrogateescape")
        told = problems(directory.read(text))
        assert [*told] == [len(good) + 2 + number for number in range(len(bad))]
        wrong += [
            (cells, why)
            for (cells, expected), why in zip(bad, told.values(), strict=True)
            if expected not in why or "Ada" in why
        ]
    assert wrong == []


def test_a_second_file_changes_only_its_columns(directory: Directory) -> None:
    directory.read(table(GOOD | {"title": "CMO", "city": "Berlin", "email": "a@acme.test"}))
    told = directory.read(f"name,linkedin,company,city\nAda,{PAGE},Acme,\n")

    (ada,) = directory.people()
    assert told["updated"] == 1
    assert (ada["full_name"], ada["title"], ada["email"]) == ("Ada", "CMO", "a@acme.test")
    assert ada["location"] is None
