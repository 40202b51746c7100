"""Every test is run once, and what is to be begun first is, by a worker of its own."""

from hypothesis import given
from hypothesis import strategies as st

from harness.forked_workers import part_lengths
from harness.ordering import in_parts


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
