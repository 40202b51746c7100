import pytest

from cs.sandbox.search_query import matches, read_query

URL = "https://www.linkedin.com/in/jo-ek"
TEXT = "Jo Ek - Influencer Marketing Manager - Acme | LinkedIn"


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
    assert matches(read_query(query), URL, TEXT) > 0


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
    assert matches(read_query(query), URL, TEXT) == 0


def test_more_words_met_is_a_better_answer() -> None:
    both, one = read_query("influencer manager"), read_query("influencer director")

    assert matches(both, URL, TEXT) > matches(one, URL, TEXT)


def test_only_so_many_terms_are_read() -> None:
    assert len(read_query("a " * 10_000).words) == 64
