"""Tables on narrow terminals: whole words, whole numbers, whole ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.cli.output import Table, console, print_parts


def shown(table: Table, width: int) -> str:
    with pytest.MonkeyPatch.context() as during, console.capture() as printed:
        during.setattr(console, "_width", width)
        print_parts([table])
    return printed.get()


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
