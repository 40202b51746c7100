import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.bus.kafka.lowest_offsets import LowestOffsets

#: Taken in rising order with gaps, and the order in which some of them finish.
CASES = st.lists(st.integers(0, 200), unique=True).flatmap(
    lambda offsets: st.tuples(
        st.just(sorted(offsets)), st.permutations(offsets), st.integers(0, len(offsets))
    )
)


def test_nothing_taken_is_nothing_to_commit() -> None:
    offsets = LowestOffsets()

    offsets.finish(7)

    assert offsets.to_commit is None
    assert len(offsets) == 0


@given(CASES)
def test_what_is_committed_is_the_lowest_unfinished_offset(
    case: tuple[list[int], list[int], int],
) -> None:
    taken, order, done = case
    offsets = LowestOffsets()
    for offset in taken:
        offsets.take(offset)

    for offset in order[:done]:
        offsets.finish(offset)

    unfinished = set(taken) - set(order[:done])
    after = taken[-1] + 1 if taken else None
    assert offsets.to_commit == min(unfinished, default=after)
    assert len(offsets) == len(unfinished)


@given(st.data())
def test_it_never_goes_back_while_taking_and_finishing_mix(data: st.DataObject) -> None:
    offsets = LowestOffsets()
    unfinished: set[int] = set()
    following = 0
    for _ in range(data.draw(st.integers(0, 60))):
        before = offsets.to_commit
        finishes: bool = data.draw(st.booleans())
        if unfinished and finishes:
            one = data.draw(st.sampled_from(sorted(unfinished)))
            unfinished.discard(one)
            offsets.finish(one)
            offsets.finish(one)  # the second time is quiet
        else:
            taken = following + data.draw(st.integers(0, 3))
            offsets.take(taken)
            unfinished.add(taken)
            following = taken + 1

        assert offsets.to_commit == min(unfinished, default=following or None)
        assert before is None or (offsets.to_commit or 0) >= before


def test_an_offset_is_taken_once() -> None:
    offsets = LowestOffsets()
    offsets.take(3)
    offsets.finish(3)

    with pytest.raises(ValueError, match="next is 4"):
        offsets.take(3)
