"""Causes are short, on one line, and as they are stored name nobody."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.domain.cause import CAUSE, CAUSES, one_line, storable_causes
from cs.domain.stages.limits import check
from cs.domain.stages.work import Failed
from harness.budget import within


@pytest.mark.parametrize(
    ("why", "kept"),
    [
        ("SearXNG answers 500", "SearXNG answers 500"),
        ("the shop doesn't answer, it isn't up", "the shop doesn't answer, it isn't up"),
        ("KeyError: 'Jane Doe'", "KeyError: […]"),
        ("cannot read b\"Jane\" or u'Doe'", "cannot read […] or […]"),
        ("invalid: 'Jane D", "invalid: […]"),
        (r"""got 'Jane \'JD\' "Doe"' here""", "got […] here"),
        ("no “Jane Doe”, «Jane» or `Doe`", "no […], […] or […]"),
        (
            "header b'Bearer ' or 'Basic ********', then ''",
            "header b'Bearer ' or 'Basic ********', then ''",
        ),
        ("'Bearer Jane'", "[…]"),
        ("a@b.test@c.test", "[mailbox]"),
        ("https://x.test/in/jane-doe?q=1 answers 404", "https://x.test/… answers 404"),
        ("GET HTTP://x.test?q=jane: no", "GET HTTP://x.test/… no"),
        ("http://127.0.0.1:8888 is away", "http://127.0.0.1:8888 is away"),
        ("jane.doe@acme.test and jane%40acme.test", "[mailbox] and [mailbox]"),
        ("one\r\ntwo\x1b[31m\u202ethree\u2028\ud800.", "one two [31m three ."),
    ],
)
def test_a_stored_cause_says_what_failed_and_nothing_that_was_read(why: str, kept: str) -> None:
    assert storable_causes({"web": why}) == {"web": kept}


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=700), max_size=2 * CAUSES))
@example({"a": "x" * 10_000})
@example({"a": "'" * CAUSE, "b": "'a' " * 100, "c": "'a'@b", "d": "x" * 290 + "http://a/b"})
@example({"a": "0@0@0", "b": "'\\' “' ”`", "c": "x" * 295 + "“abc” «", "d": "u'' 'Bearer '' '"})
def test_stored_causes_are_bounded_fit_a_message_and_stay_as_they_are(
    causes: dict[str, str],
) -> None:
    kept = storable_causes(causes)

    assert list(kept) == list(causes)[:CAUSES]
    named = {f"s{number}": why for number, why in enumerate(kept.values())}
    check(Failed(why="x", retryable=True, causes=named))
    assert storable_causes(kept) == kept


@pytest.mark.parametrize(
    "part", ["a", "a@", "a%40", "@", "'", "http://", "a@b&", "%40 ", "\\'", "“", "`", "b'"]
)
def test_a_long_cause_is_read_once(part: str) -> None:
    """An exception may hold a whole page; read once for each letter, it took seconds."""
    text = part * (20_000 // len(part))

    within(lambda: one_line(text), seconds=0.5, mib=2)
    within(lambda: storable_causes({"a": text}), seconds=0.5, mib=2)
