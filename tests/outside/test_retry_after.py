"""What a service asks for is a time to wait, whatever it wrote."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.client.limits import read_retry_after
from cs.domain.mail.reply_meaning import retry_hint
from cs.outside.retry_after import LONGEST_S, retry_after_s

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("Sat, 21 Nov 2026 12:01:00 GMT", 60.0),
        ("Saturday, 21-Nov-26 12:01:00 GMT", 60.0),
        ("Sat Nov 21 12:01:00 2026", 60.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_S),
        ("9" * 400, LONGEST_S),
        ("9" * 10_000, LONGEST_S),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("1_000", None),
        ("٣", None),
    ],
)
def test_both_forms_are_read_and_nothing_else(text: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": text}, now=NOW) == seconds


def test_without_the_header_nothing_is_asked_for() -> None:
    assert retry_after_s({}, now=NOW) is None


many_digits = st.integers(0, 40).flatmap(lambda n: st.just("9" * n))
dates = st.builds(
    "{}, {} {} {} {}:{}:{} {}".format,
    st.sampled_from(["Sat", "Saturday", ""]),
    many_digits | st.integers(-1, 40),
    st.sampled_from(["Nov", "Dec", "Foo"]),
    many_digits | st.integers(-1, 99_999),
    many_digits | st.integers(0, 30),
    many_digits | st.integers(0, 70),
    many_digits | st.integers(0, 70),
    st.sampled_from(["GMT", "", "+9999", "-9999", "+99999999999999999999", "EST"]),
)
anything = (
    st.text(max_size=300) | dates | st.from_regex(r"[-+]?[0-9.eE_]{0,400}", fullmatch=True)
)


@given(anything)
@example("Sat, 21 Nov 99999999999999999999 12:00:00 GMT")
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("Fri, 31 Dec 9999 23:59:59 -2359")
@example("Sat, 21 Nov 2026 12:00:00 +99999999999999999999")
@example("1 Jan 1 0:0:0 " + "9" * 5_000)
def test_any_text_is_a_time_of_at_most_a_day_or_none(text: str) -> None:
    for now in (NOW, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        seconds = retry_after_s({"retry-after": text}, now=now)

        assert seconds is None or 0 <= seconds <= LONGEST_S


@given(anything, st.none() | anything)
def test_any_header_is_read_by_the_client_too(text: str, date: str | None) -> None:
    headers = {"retry-after": text} | ({} if date is None else {"date": date})
    seconds = read_retry_after(headers)

    assert seconds is None or seconds >= 0


words = st.lists(
    st.sampled_from(
        ["in", "after", "and", " ", "-", "99999", "٩٩", "s", "hours", "m", "00:00:01"]
    )
).map("".join)


@given(anything | words)
@example("in " + "9" * 5_000 + " hours")
@example("1 s " * 500)
def test_any_reply_of_a_mail_server_asks_for_a_day_at_most_or_for_nothing(text: str) -> None:
    seconds = retry_hint(text)

    assert seconds is None or 0 < seconds <= timedelta(days=1).total_seconds()
