"""Every test is run once, and what is to be begun first is, by a worker of its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.ordering import in_parts, part_lengths


@given(st.data())
def test_each_is_there_once_and_a_part_begins_with_what_is_long(data: st.DataObject) -> None:
    items = list(range(data.draw(st.integers(40, 80))))
    workers = data.draw(st.integers(1, 5))
    chosen = data.draw(st.lists(st.sampled_from(items), unique=True, max_size=8))
    together, long = sorted(chosen[:4]), chosen[4:]

    ordered = in_parts(items, workers, together=together, long=long)

    assert sorted(ordered) == items
    assert ordered[: len(together)] == together
    begins = [sum(part_lengths(len(items), workers)[:n]) for n in range(workers)]
    places = [ordered.index(item) for item in long]
    others = begins[1:] or [len(together)]
    assert all(any(0 <= place - begin < 4 for begin in others) for place in places)


@pytest.mark.parametrize(
    ("tests", "lengths"), [(9_694, [2423, 2423, 2424, 2424]), (3, [0, 1, 1, 1])]
)
def test_parts_are_as_long_as_those_of_the_scheduler(tests: int, lengths: list[int]) -> None:
    assert part_lengths(tests, 4) == lengths
