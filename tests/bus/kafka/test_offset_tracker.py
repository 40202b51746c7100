import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.bus.kafka.partition_assignment import OffsetTracker


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


def test_an_offset_that_goes_back_is_refused() -> None:
    offsets = OffsetTracker()
    offsets.track(7)

    with pytest.raises(ValueError, match="offset 7 came after 7"):
        offsets.track(7)
