"""Lists as people keep them."""

import tracemalloc
from pathlib import Path

import pytest

from cs.cli.brand_list import MAX_BYTES, BadList, read_rows, rows_of


def read(text: str) -> list[tuple[int, str | None, str | None]]:
    return [(row.number, row.brand, row.domain) for row in rows_of(text)]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("Acme\nBeta Co\n", [(1, "Acme", None), (2, "Beta Co", None)]),
        ("brand\nAcme\n", [(2, "Acme", None)]),
        ("Brand,Domain\r\nAcme,acme.example\r\n", [(2, "Acme", "acme.example")]),
        ("Note;Domain;Brand\nx;a.example;A B\n", [(2, "A B", "a.example")]),
        ("domain\na.example\n", [(2, None, "a.example")]),
        ("Acme\ta.example\n", [(1, "Acme", "a.example")]),
        ("\n  \n,\nAcme\n", [(4, "Acme", None)]),
        ('"Ac\nme",x.example\nBeta,\n', [(1, "Ac me", "x.example"), (3, "Beta", None)]),
        ('"Acme, Inc.",\n', [(1, "Acme, Inc.", None)]),
        ("", []),
    ],
)
def test_rows_are_read(text: str, rows: list[tuple[int, str | None, str | None]]) -> None:
    assert read(text) == rows


def test_the_same_wish_is_read_once() -> None:
    assert read("Acme,\nACME,\n acme ,\nAcme,a.example\n") == [
        (1, "Acme", None),
        (4, "Acme", "a.example"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x" * 200_000, "line 1"),
        ('Beta\n"Acme,\nGamma\n', "line 2: a quote is opened that nothing closes"),
        ('"Acme" Co,acme.example\n', "line 1"),
        ("Id,Company,Website\n1,Acme,acme.example\n", "line 1 has 3 columns, and none is"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, told: str) -> None:
    with pytest.raises(BadList, match=told):
        rows_of(text)


def test_columns_without_a_name_do_no_harm_when_they_are_empty() -> None:
    assert read("Acme,acme.example,,\nBeta,,a note\n") == [
        (1, "Acme", "acme.example"),
        (2, "Beta", None),
    ]


def test_a_file_that_is_no_list_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(16 * MAX_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(BadList, match="is larger than 16 MiB"):
            read_rows(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 3 * MAX_BYTES


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(BadList, match="is larger than 16 MiB"):
        read_rows(Path("/dev/zero"))


@pytest.mark.slow
def test_the_largest_list_is_read(tmp_path: Path) -> None:
    path = tmp_path / "brands.csv"
    blank = b" " * 1023 + b"\n"
    path.write_bytes((b"Acme\n" + blank * (MAX_BYTES // len(blank)))[:MAX_BYTES])

    assert [row.brand for row in read_rows(path)] == ["Acme"]
