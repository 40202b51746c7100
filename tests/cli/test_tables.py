"""Tables on narrow terminals: whole words, whole numbers, whole ids."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.cli.output import Table, console, print_parts
from cs.cli.search_record import record_lines

#: Columns, one row, and which columns fold.
Shape = tuple[Sequence[str], Sequence[str], Sequence[str]]

KEYS: Shape = (
    ("Id", "Label", "Ends in", "Used", "Running", "Issued"),
    (
        "key_ma7677g7zxmrnqf8",
        "Sales, Berlin and Hamburg",
        "x8Kq",
        "18 of 500",
        "2",
        "2026-11-22",
    ),
    ["Label"],
)
BRANDS: Shape = (
    ("Brand", "Domain", "Ended", "Verified", "Reused until"),
    ("Veltrana Outdoor Adventures", "veltrana-outdoor.test", "done", "12", "2026-12-22"),
    ["Brand", "Domain"],
)
PROVED: Shape = (
    ("Asked", "Intended", "Ended", "Verified", "Seconds", ""),
    ("Veltrana (veltrana.test)", "no_contacts", "scrape_error", "14 of 15", "118.2", "✓"),
    ["Asked"],
)
TOPICS: Shape = (
    ("Topic", "Partitions", "Replicas", "Settings"),
    (
        "staging.cs.contact-discovery.v1",
        "12",
        "3",
        "retention.ms=3600000, min.insync.replicas=2",
    ),
    ["Settings"],
)


def shown(table: Table, width: int) -> str:
    with pytest.MonkeyPatch.context() as during, console.capture() as printed:
        during.setattr(console, "_width", width)
        print_parts([table])
    return printed.get()


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("table", [KEYS, BRANDS, PROVED, TOPICS])
def test_a_row_is_one_line_if_that_is_asked_for(table: Shape, width: int) -> None:
    columns, row, folds = table

    head, *lines = shown(Table(columns, [row, row], folds, one_line=True), width).splitlines()

    assert len(lines) == 2
    assert all(
        cell in lines[0] for cell, name in zip(row, columns, strict=True) if name not in folds
    )
    whole = sum(len(cell) for cell, name in zip(row, columns, strict=True) if name not in folds)
    assert len(lines[0]) <= max(width, len(head), whole + 14 * len(row))


words = st.text(
    st.characters(categories=["L", "N"], max_codepoint=0x2FF), min_size=1, max_size=30
)


@given(
    st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=6),
    st.integers(60, 120),
    st.sets(st.integers(0, 5)),
)
def test_no_word_is_ever_cut(cells: list[list[str]], width: int, folded: set[int]) -> None:
    columns = [f"C{n}" for n in range(len(cells))]
    folds = [f"C{n}" for n in folded]

    row = [" ".join(cell) for cell in cells]

    told = shown(Table(columns, [row], folds), width)

    assert {word for cell in cells for word in cell} <= set(told.split())
    assert all(
        cell in told for cell, name in zip(row, columns, strict=True) if name not in folds
    )
    least = sum(
        max(len(word) for word in (cell if name in folds else [" ".join(cell)]) + [name])
        for cell, name in zip(cells, columns, strict=True)
    )
    assert all(len(line) <= max(width, least + 2 * len(row)) for line in told.splitlines())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_people_and_their_addresses_are_whole(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "_width", width)
    contact = {
        "full_name": "Maximiliane von Hohenstein-Oberndorff",
        "title": "Senior Manager, Influencer Marketing and Brand Partnerships EMEA",
        "email": "maximiliane.von.hohenstein-oberndorff@veltrana-outdoor.test",
        "email_status": "verified",
        "location": "Berlin, Germany",
    }
    print_parts(
        record_lines(
            {
                "id": "srch_87mhs1xrf2vgzhmz6yzd2axq8h",
                "brand": "Veltrana",
                "status": "done",
                "cached": False,
                "charged": True,
                "contacts": [contact],
                "usage": {"used": 18, "quota": 500, "remaining": 482},
            }
        )
    )

    told = capsys.readouterr().out
    assert contact["email"] in told
    assert "srch_87mhs1xrf2vgzhmz6yzd2axq8h" in told
    assert set(contact["title"].split()) <= set(told.split())
