"""What a service asks for is a time to wait, whatever it wrote."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from cs.client.limits import read_retry_after
from cs.domain.contact import BrandFacts
from cs.domain.mail.reply_meaning import retry_hint
from cs.outside.port import Response
from cs.plugins.contracts.stand_in import ServiceRequest, StandIn, source_context
from cs.plugins.entry_points import Group
from harness.clients import plugin

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
#: Seconds that are believed at most, and those that a source waits that is not told any.
LONGEST_S, UNTOLD_S = 24 * 3600.0, 5.0


class Limited:
    """A source whose service answers 429, with headers and at a time that change."""

    def __init__(self) -> None:
        self.headers, self.now = dict[str, str](), NOW
        context = source_context(StandIn(self._answer), url="http://127.0.0.1:9")
        context = replace(context, now=lambda: self.now)
        self._source = plugin(Group.PEOPLE_SOURCES, "searxng", context)

    def _answer(self, asked: ServiceRequest) -> Response:
        return Response(status=429, headers=self.headers, body=b"", url=asked.path)

    def waits_s(self, text: str | None, now: datetime = NOW) -> float:
        """Return the wait that it reports if it gets *text* as ``Retry-After``."""
        self.headers, self.now = {} if text is None else {"retry-after": text}, now
        found = asyncio.run(self._source.find(BrandFacts(name="Acme"), limit=5)).retry_in_s
        assert isinstance(found, float)
        return found


limited = cache(Limited)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", UNTOLD_S),
        (" 7 ", 7.0),
        ("1.5", 1.5),
        ("Sat, 21 Nov 2026 12:01:00 GMT", 60.0),
        ("Saturday, 21-Nov-26 12:01:00 GMT", 60.0),
        ("Sat Nov 21 12:01:00 2026", 60.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", UNTOLD_S),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_S),
        ("9" * 400, LONGEST_S),
        ("9" * 10_000, LONGEST_S),
        *((bad, UNTOLD_S) for bad in ("", "soon", "-1", "nan", "inf", "1e999", "1_000", "٣")),
    ],
)
def test_both_forms_are_read_and_nothing_else(text: str, seconds: float) -> None:
    assert limited().waits_s(text) == seconds


def test_without_the_header_nothing_is_asked_for() -> None:
    assert limited().waits_s(None) == UNTOLD_S


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
        assert 0 <= limited().waits_s(text, now) <= LONGEST_S


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
