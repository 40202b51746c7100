import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.bus.kafka.offset_tracker import OffsetTracker

#: Taken in rising order with gaps, and the order in which some of them finish.
CASES = st.lists(st.integers(0, 200), unique=True).flatmap(
    lambda offsets: st.tuples(
        st.just(sorted(offsets)), st.permutations(offsets), st.integers(0, len(offsets))
    )
)


def test_nothing_tracked_is_nothing_to_commit() -> None:
    offsets = OffsetTracker()

    offsets.mark_done(7)

    assert offsets.committable is None
    assert len(offsets) == 0


@given(CASES)
def test_what_is_committed_is_the_lowest_unfinished_offset(
    case: tuple[list[int], list[int], int],
) -> None:
    taken, order, done = case
    offsets = OffsetTracker()
    for offset in taken:
        offsets.track(offset)

    for offset in order[:done]:
        offsets.mark_done(offset)

    unfinished = set(taken) - set(order[:done])
    after = taken[-1] + 1 if taken else None
    assert offsets.committable == min(unfinished, default=after)
    assert len(offsets) == len(unfinished)


@given(st.data())
def test_it_never_goes_back_while_taking_and_finishing_mix(data: st.DataObject) -> None:
    offsets = OffsetTracker()
    unfinished: set[int] = set()
    following = 0
    for _ in range(data.draw(st.integers(0, 60))):
        before = offsets.committable
        finishes: bool = data.draw(st.booleans())
        if unfinished and finishes:
            one = data.draw(st.sampled_from(sorted(unfinished)))
            unfinished.discard(one)
            offsets.mark_done(one)
            offsets.mark_done(one)  # the second time is quiet
        else:
            taken = following + data.draw(st.integers(0, 3))
            offsets.track(taken)
            unfinished.add(taken)
            following = taken + 1

        assert offsets.committable == min(unfinished, default=following or None)
        assert before is None or (offsets.committable or 0) >= before


def test_an_offset_is_tracked_once() -> None:
    offsets = OffsetTracker()
    offsets.track(3)
    offsets.mark_done(3)

    with pytest.raises(ValueError, match="next is 4"):
        offsets.track(3)
