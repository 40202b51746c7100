"""Ids look alike, whoever makes them, and never come twice."""

import re
from collections.abc import Callable

import pytest

from cs.runtime.ids import RandomIds, random_id


@pytest.mark.parametrize("new", [random_id, RandomIds().new])
def test_each_is_another_one_of_130_bits(new: Callable[[str], str]) -> None:
    made = [new("req_") for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(re.fullmatch("req_[0-9a-hjkmnp-tv-z]{26}", each) for each in made)
    assert {each[-1] for each in made} == set("0123456789abcdefghjkmnpqrstvwxyz")


def test_an_id_may_be_shorter_and_two_sources_know_nothing_of_each_other() -> None:
    ids, others = RandomIds(), RandomIds()

    made = [source.new("", 8) for source in (ids, others) for _ in range(1000)]

    assert {len(each) for each in made} == {8}
    assert len(set(made)) == 2000
