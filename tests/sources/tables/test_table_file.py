import gzip
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cs.runtime import csv_records
from cs.sources.people_directory.importing import PEOPLE, lacking
from cs.sources.tables import parquet, table_file
from cs.sources.tables.table_file import FIELDS, BadFile, TableFile, columns_of

HEADER = "name,linkedin,company\n"
ADA = {"name": "Ada Kern", "linkedin": "linkedin.com/in/ada", "company": "Acmé"}
LINE = "Ada Kern,linkedin.com/in/ada,Acmé\n"
Rows = list[tuple[int, Mapping[str, Any] | str]]


def rows(path: Path, **options: Any) -> Rows:
    return list(TableFile(path, PEOPLE, **options).rows())


def test_tables_are_read_however_they_are_written(tmp_path: Path) -> None:
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
        (tmp_path / name).write_bytes(data)
        file = TableFile(tmp_path / name, PEOPLE)

        assert file.form == f"CSV with {form}"
        fields = {"full_name": "name", "profile": "linkedin", "company": "company"}
        assert file.columns == fields
        ((line, found),) = list(file.rows())
        assert isinstance(found, dict)
        assert (line, {key: cell.strip() for key, cell in found.items()}) == (2, ADA)


def test_the_line_that_names_the_columns_is_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "Connections.csv"
    path.write_text(f'Notes:\n"When exporting, you may see\nless."\n\n{HEADER}{LINE}')
    (excel := tmp_path / "excel.csv").write_text(f"sep=;\n{(HEADER + LINE).replace(',', ';')}")

    assert [number for number, _ in rows(path)] == [6]
    assert [number for number, _ in rows(excel)] == [3]


def test_text_of_another_encoding_is_lost_only_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes((HEADER + LINE).encode("cp1252") + b"Ben,linkedin.com/in/ben,Bolt\n")

    (_, first), (_, second) = rows(path)
    (_, told), _ = rows(path, encoding="cp1252")

    assert isinstance(first, dict)
    assert first["company"] == "Acm\udce9"
    assert isinstance(second, dict)
    assert second["company"] == "Bolt"
    assert isinstance(told, dict)
    assert told["company"] == "Acmé"


def test_no_good_row_is_lost_to_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    long = "x" * csv_records.LONGEST_LINE
    path.write_text(
        f'{HEADER}a,"open,c\n{LINE}\n  \n,,\nb,"two\nlines",c\nd,5" disc,e\n{long},x,y\n'
        f"f,g,h,i\nj,k\n{LINE}"
    )

    found = rows(path)

    told = {number: row for number, row in found if isinstance(row, str)}
    assert sorted(told) == [2, 10, 11]
    assert "quote" in told[2]
    assert "characters" in told[10]
    assert "4 cells for 3 columns" in told[11]
    good = [row.get("name") for _, row in found if isinstance(row, dict)]
    assert good == ["Ada Kern", "b", "d", "j", "Ada Kern"]


def test_json_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"name":"Ada Kern","linkedin":"linkedin.com/in/ada"}\n\n[1]\n{"name":\n'
        f'{{"name":"Ben","company":"Bolt"}}\n"{"x" * csv_records.LONGEST_LINE}"\n'
    )

    file = TableFile(path, PEOPLE)

    assert file.form == "JSON lines, utf-8"
    assert file.columns["company"] == "company"
    found = list(file.rows())
    assert [number for number, _ in found] == [1, 3, 4, 5, 6]
    assert [isinstance(row, str) for _, row in found] == [False, True, True, False, True]


def test_parquet_is_read_numbers_and_times_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    known = pa.array([1, None, None], pa.timestamp("ns"))
    names, companies = ["Ada", "Ben", "Cam"], [1.5, 7, 7]
    table = {"Name": names, "LinkedIn": [b"", None, b"x"], "Company": companies, "as of": known}
    pq.write_table(pa.table(table | {"LinkedIn": ["x", None, None]}), path)
    pq.write_table(pa.table(table), (other := tmp_path / "b.parquet"))

    file = TableFile(path, PEOPLE)

    assert file.form == "Parquet"
    (_, first), (_, second), _ = file.rows()
    time = "1970-01-01 00:00:00.000000001"
    assert first == {"Name": "Ada", "LinkedIn": "x", "Company": "1.5", "as of": time}
    assert second == {"Name": "Ben", "LinkedIn": None, "Company": "7.0", "as of": None}
    assert rows(other)[2][1] == "a cell holds a list, an object or bytes: give one text"


def test_cells_of_parquet_that_would_fill_the_memory_cost_their_row_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.parquet"
    long = "x" * (parquet.LONGEST_CELL + 1)
    names = ["Ada", "Ben", None, long, "Eve", "Ed"]
    coded = pa.array(["A", long, "A", "A", None, "é" * parquet.LONGEST_CELL])
    table = pa.table(
        {
            "Name": names,
            "LinkedIn": ["x", "x", None, "x", "x", "x"],
            "Company": coded.dictionary_encode(),
            "company.domain": [None, None, None, None, [long], None],
            "as of": [None, date(2026, 1, 1), None, None, None, None],
        }
    )
    pq.write_table(table, path)

    found = [row for _, row in TableFile(path, PEOPLE).rows()]

    assert [row if isinstance(row, str) else row["Name"] for row in found] == [
        "Ada",
        "Company has 65537 bytes, of 65536",
        None,
        "Name has 65537 bytes, of 65536",
        "a cell holds a list, an object or bytes: give one text",
        "Company has 131072 bytes, of 65536",
    ]


def test_a_text_of_parquet_that_is_repeated_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    count = 4_000
    text = "x" * (1 << 20)  # 4 GiB if it was
    company = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), [text])
    pq.write_table(
        pa.table({"Name": ["Ada"] * count, "LinkedIn": ["x"] * count, "Company": company}),
        path,
        store_schema=False,
    )

    found = rows(path)

    assert len(found) == count
    assert {row for _, row in found} == {"Company has 1048576 bytes, of 65536"}


def test_a_file_that_is_none_says_why(tmp_path: Path) -> None:
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
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BadFile, match=told):
            TableFile(tmp_path / name, PEOPLE)


def test_what_breaks_off_later_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    lines = "".join(f"P{n},linkedin.com/in/p{n * 7919},C{n}\n" for n in range(5_000))
    path.write_bytes(gzip.compress((HEADER + lines).encode())[:-5_000])

    found: Rows = []
    with pytest.raises(BadFile, match=r"a\.csv\.gz"):
        found.extend(TableFile(path, PEOPLE).rows())


def test_a_missing_file_an_unknown_encoding_and_too_much_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(BadFile, match="No such file"):
        TableFile(path, PEOPLE)
    path.write_text(HEADER + LINE * 3)
    with pytest.raises(BadFile, match="encoding"):
        TableFile(path, PEOPLE, encoding="klingon")
    monkeypatch.setattr(table_file, "MOST_ROWS", 2)
    with pytest.raises(BadFile, match="more than 2 lines"):
        rows(path)
    monkeypatch.setattr(table_file, "MOST_BYTES", 10)
    with pytest.raises(BadFile, match="larger"):
        TableFile(path, PEOPLE)


def test_wrong_bytes_in_json_cost_their_line_and_are_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ('{"name":"Jürgen","email":"j@acme.test"}', '{"name":"Ada","email":"a@acme.test"}')
    path.write_bytes("\n".join(lines).encode("cp1252"))

    (first, second) = rows(path)

    assert first[0] == 1
    assert "encoding" in first[1]
    assert second == (2, {"name": "Ada", "email": "a@acme.test"})


def test_a_text_of_parquet_that_is_not_utf_8_is_one_error_that_repeats_no_cell(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.parquet"
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 2, 4)))
    names = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"J\xfcAl")])
    pq.write_table(pa.table({"name": names, "email": ["j@acme.test", "al@acme.test"]}), path)

    with pytest.raises(BadFile, match="not UTF-8") as refused:
        rows(path)

    assert "J" not in str(refused.value).removeprefix(str(path))


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


def test_columns_of_common_exports_are_known() -> None:
    for header, expected in EXPORTS.items():
        found = columns_of(header.split(","), FIELDS["people"])
        assert expected.items() <= found.items()
        assert lacking(found) is None


def test_what_somebody_chose_counts() -> None:
    header = ["Wer", "Name", "LinkedIn", "Firma", "Title"]

    chosen = {"full_name": "Wer", "company": "firma", "title": ""}
    found = columns_of(header, FIELDS["people"], chosen)

    assert found == {"full_name": "Wer", "profile": "LinkedIn", "company": "Firma"}
    for wrong, told in ({"nick": "Wer"}, "nick"), ({"title": "Rolle"}, "Rolle"):
        with pytest.raises(ValueError, match=told):
            columns_of(header, FIELDS["people"], wrong)


def test_what_is_lacking_is_said() -> None:
    told = [
        lacking(columns_of(header.split(","), FIELDS["people"]))
        for header in ("linkedin,company", "name,company", "name,linkedin", "name,email")
    ]

    assert [each and each.rpartition("--column ")[2].partition("=")[0] for each in told] == [
        *("full_name", "profile", "company"),
        None,
    ]
