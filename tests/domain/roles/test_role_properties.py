"""What holds for any headline whatever."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.names.plain_text import LIMIT, plain
from cs.domain.roles.labels import ELIGIBLE, Family, Level
from cs.domain.roles.role import classify
from cs.domain.roles.search_result import read_title

WORDS = [
    *("Head of", "Brand Manager", "Influencer", "Social Media", "Creator", "Intern", "VP"),
    *("ex-", "Former", "now", "Open to work", "2019–2022", "Founder of", "Founder & "),
    *(" at ", " @ ", " bei ", " en ", " in ", "Acme", "The Social Agency", "Berlin"),
    *(", ", " & ", " - ", "/", "(", ")", ".", "#", "“", "|", "👖", "&amp;", "she/her"),
    *("株式会社", "部長", "品牌", "팀장", "前", "Sr.", "LinkedIn", "Assistant to the"),
]
headlines = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from([*WORDS, " | ", " "]), max_size=25).map("".join),
    st.lists(st.sampled_from([*WORDS, " | "]), max_size=25).map(" ".join),
)


@given(headlines)
def test_any_text_is_classified_and_consistently(headline: str) -> None:
    role = classify(headline)

    assert role.family in set(Family)
    assert role.level in set(Level)
    assert role.eligible == (role.family != "other" and role.level in ELIGIBLE)
    assert role.eligible == (role.score > 0)
    assert 0 <= role.score <= 1
    assert role.title is not None or (role.company is None and not role.eligible)


def letters(text: str) -> str:
    """Return *text* without what may be dropped between two letters: brackets, dashes."""
    return "".join(character for character in text if character.isalnum())


@given(headlines)
@example("(BRAND)0@0")
@example("0 AT @")
def test_titles_and_companies_are_words_of_the_headline(headline: str) -> None:
    role = classify(headline)
    written = letters(plain(headline))

    for text in (role.title, role.company):
        assert text is None or text.strip()
        for word in (text or "").replace(",", " ").split():
            assert letters(word) in written


@given(headlines, headlines)
def test_any_search_result_is_read(title: str, snippet: str) -> None:
    seen = read_title(title, snippet)

    assert seen is None or seen.full_name.strip()


def test_what_comes_after_the_limit_is_not_read() -> None:
    assert classify("x" * (LIMIT + 1) + " | Head of Brand at Acme").eligible is False


@pytest.mark.parametrize(
    "unit",
    [
        *("a ", "(", "manager ", " - ", "@", "ex-", "(a)", "[", "“", "head of ", "A, ", "& "),
        *("en A", "de A ", "now former ", "\x00", "&amp;", "株式会社", "lead ", "group x "),
        *("she/", "| ", "マ"),
    ],
)
def test_no_text_takes_long(unit: str) -> None:
    text = (unit * 10_000)[:10_000]
    before = time.process_time()
    classify(text)
    read_title(text, text)

    # Some 10 ms; a pattern that backtracks takes seconds.
    assert time.process_time() - before < 0.5
