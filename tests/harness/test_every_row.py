"""A table in one test: every wrong row is told."""

import pytest

from harness.every_row import check_every


def test_every_wrong_row_is_told_and_none_is_left_out() -> None:
    seen = []

    def check(row: int) -> None:
        seen.append(row)
        if row == 3:
            raise ValueError("three")
        assert row % 2, "even"

    with pytest.raises(AssertionError, match="3 of 4 rows are wrong:") as failed:
        check_every([1, 2, 3, 4], check)

    assert seen == [1, 2, 3, 4]
    assert "2: AssertionError: even" in str(failed.value)
    assert "3: ValueError: three" in str(failed.value)


def test_a_table_without_rows_is_no_test() -> None:
    with pytest.raises(AssertionError, match="no rows"):
        check_every([], lambda _: None)
