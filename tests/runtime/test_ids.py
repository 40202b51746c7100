"""Ids look alike and never come twice."""

import re

from cs.runtime.ids import random_id


def test_each_is_another_one_of_130_bits() -> None:
    made = [random_id("req_") for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(re.fullmatch("req_[0-9a-hjkmnp-tv-z]{26}", each) for each in made)
    assert {each[-1] for each in made} == set("0123456789abcdefghjkmnpqrstvwxyz")
