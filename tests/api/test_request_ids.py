"""Ids of requests look like all ids and never come twice."""

import re

from cs.api.request_ids import RequestIds


def test_each_is_another_one_of_130_bits() -> None:
    ids = RequestIds()

    made = [ids.new() for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(re.fullmatch("req_[0-9a-hjkmnp-tv-z]{26}", each) for each in made)
    assert {each[-1] for each in made} == set("0123456789abcdefghjkmnpqrstvwxyz")
