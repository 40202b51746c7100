"""What an operator did is reported by its event, with whom; nothing else is an act."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.codec import TOPICS, AnyEvent
from cs.domain.operator_actions import ACCOUNT, ACTS, account, act_of
from domain.golden_files import NAMES, golden_event

TOLD_BY = [cls for cls in TOPICS.values() if "by" in cls.__struct_fields__]


def test_every_event_that_says_who_is_an_act_and_no_other() -> None:
    assert set(TOLD_BY) == ACTS


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("+by")])
def test_an_act_tells_who_and_when(name: str) -> None:
    event = golden_event(name)

    act = act_of("key-key_1", event)

    assert act is not None
    assert (act.by, act.at, act.of) == ("ada", event.at, "key-key_1")
    assert act.what.replace("_", "-").endswith(name.split(".")[1])


def test_each_act_has_a_stored_example_with_and_without_whom() -> None:
    told: dict[type[AnyEvent], set[str | None]] = {}
    for name in NAMES:
        event = golden_event(name)
        if type(event) in TOLD_BY:
            told.setdefault(type(event), set()).add(getattr(event, "by", None))

    assert told == {cls: {None, "ada"} for cls in TOLD_BY}


def test_what_the_service_does_is_no_act() -> None:
    assert act_of("key-key_1", golden_event("key.search-admitted.v1")) is None
    assert act_of("service", golden_event("service.world-chosen.v1")) is None


@given(st.text(max_size=200))
def test_an_account_is_printable_and_short(name: str) -> None:
    noted = account(name)

    assert noted is None or (noted.isprintable() and 0 < len(noted) <= ACCOUNT)
    assert noted == (account(noted) if noted else None)
