import pytest

from cs.sandbox.folding import fold
from cs.sandbox.search_query import QueryMatcher, bare_address, read_query

URL = "https://www.linkedin.com/in/jo-ek"
TEXT = "Jo Ek - Influencer Marketing Manager - Acme | LinkedIn"


def score(query: str) -> int:
    return QueryMatcher(read_query(query)).score(bare_address(URL), fold(TEXT))


@pytest.mark.parametrize(
    "query",
    [
        '"Acme"',
        '"acme" influencer',
        'site:linkedin.com/in "Acme" influencers marketing',
        'site:linkedin.com/in/ "Acme" (social OR influencer)',
        'site:www.linkedin.com "Acme" ("social media" OR "influencer marketing")',
        'site:linkedin.com/in OR site:xing.com "Acme"',
        '"Acme" AND "Jo Ek" -intern',
        "influencer OR nothing",
        'site:linkedin.com/in "Acme" "social" OR "influencer"',
    ],
)
def test_text_answers(query: str) -> None:
    assert score(query) > 0


@pytest.mark.parametrize(
    "query",
    [
        '"Acorn"',
        '"Acm"',
        '"Acme" "Acorn"',
        '"Acme" social',
        'site:linkedin.com/company "Acme"',
        'site:notlinkedin.com "Acme"',
        'site:linkedin.com/i "Acme"',
        '"Acme" -manager',
        '"Acme" -"Influencer Marketing"',
        '"Acme" ("social media" OR "brand")',
    ],
)
def test_text_does_not_answer(query: str) -> None:
    assert score(query) == 0


def test_more_words_met_is_a_better_answer() -> None:
    assert score("influencer manager") > score("influencer director")


def test_only_so_many_terms_are_read() -> None:
    assert len(read_query("a " * 10_000).words) == 64
