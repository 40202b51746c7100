"""Tables of phrases find what a regular expression of the same phrases finds."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cs.domain.names.phrases import Phrases, any_of

WORDS = ["abba", "brand", "brands", "brandmanager", "manager", "a", "ab", "品牌", "部"]
PHRASES = st.lists(
    st.lists(
        st.sampled_from(["brand", "brand*", "*manager", "manager", "ab*", "ab", "*b", "a"]),
        min_size=1,
        max_size=3,
    ).map("_".join),
    min_size=1,
    max_size=5,
)
TEXTS = st.lists(st.sampled_from([*WORDS, ","]), max_size=8).map(" ".join)


@given(PHRASES, TEXTS)
def test_words_are_looked_up_as_a_regular_expression_finds_them(
    phrases: list[str], text: str
) -> None:
    table = Phrases(" ".join(phrases), "品牌")
    pattern = re.compile(rf"(?<!\w)(?:{any_of(phrases)})(?!\w)|品牌")
    hit = pattern.search(text)

    assert table.found(text) is (hit is not None)
    assert table.first(text) == (None if hit is None else hit.start())
    assert pattern.search(table.without(text)) is None or "_" in "".join(phrases)


def test_the_longest_phrase_is_taken_out() -> None:
    table = Phrases("social social_work* social_work_of_art", "社会福祉 社会")

    assert table.without("a social worker and social work of art") == "a and"
    assert table.without("社会福祉士") == "士"


def test_several_tables_make_one() -> None:
    table = Phrases.of(Phrases("brand", "品牌"), Phrases("social"))

    assert [table.found(text) for text in ("brand", "social", "品牌部", "sales")] == [
        *(True, True, True),
        False,
    ]
