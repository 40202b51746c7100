"""Queries as search engines read them, and which texts answer."""

from cs.sandbox.drawing import fold
from cs.sandbox.page_index import bare_address, read_query

URL = "https://www.linkedin.com/in/jo-ek"
TEXT = "Jo Ek - Influencer Marketing Manager - Acme | LinkedIn"
ANSWERED = (
    '"Acme"',
    '"acme" influencer',
    'site:linkedin.com/in "Acme" influencers marketing',
    'site:linkedin.com/in/ "Acme" (social OR influencer)',
    'site:www.linkedin.com "Acme" ("social media" OR "influencer marketing")',
    'site:linkedin.com/in OR site:xing.com "Acme"',
    "influencer OR nothing",
    'site:linkedin.com/in "Acme" "social" OR "influencer"',
)
NOT_ANSWERED = (
    '"Acorn"',
    '"Acm"',
    '"Acme" "Acorn"',
    '"Acme" social',
    'site:linkedin.com/company "Acme"',
    'site:notlinkedin.com "Acme"',
    'site:linkedin.com/i "Acme"',
    '"Acme" ("social media" OR "brand")',
)


def score(query: str) -> int:
    return read_query(query).score(bare_address(URL), fold(TEXT))


def test_text_answers_what_it_holds_and_nothing_else() -> None:
    assert [query for query in ANSWERED if not score(query)] == []
    assert [query for query in NOT_ANSWERED if score(query)] == []


def test_more_words_met_is_a_better_answer_and_only_so_many_are_read() -> None:
    assert score("influencer manager") > score("influencer director")
    assert len(read_query("a " * 10_000).words) == 64
