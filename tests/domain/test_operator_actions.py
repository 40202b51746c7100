"""What an operator did is reported by its event, with whom; nothing else is an act."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.codec import TOPICS
from cs.domain.operator_actions import ACCOUNT, ACTS, account, act_of
from domain.golden_files import NAMES, golden_event

TOLD_BY = [cls for cls in TOPICS.values() if "by" in cls.__struct_fields__]


def test_the_acts_are_the_events_with_an_account() -> None:
    assert set(TOLD_BY) == ACTS


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("+by")])
def test_an_act_has_account_time_and_stream(name: str) -> None:
    event = golden_event(name)

    act = act_of("key-key_1", event)

    assert act is not None
    assert (act.by, act.at, act.of) == ("ada", event.at, "key-key_1")
    assert act.what.replace("_", "-").endswith(name.split(".")[1])


@given(st.text(max_size=200))
def test_an_account_is_printable_and_short(name: str) -> None:
    noted = account(name)

    assert noted is None or (noted.isprintable() and 0 < len(noted) <= ACCOUNT)
    assert noted == (account(noted) if noted else None)
