"""What headers say of the limits, in both forms."""

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.client.limits import Limits, Window, read_limits, read_retry_after
from harness.on_port import memory_service

numbers = st.none() | st.integers(0, 10**15 - 1)
names = st.text("abcdefgh-", min_size=1, max_size=8)


@given(
    triple=st.tuples(numbers, numbers, numbers),
    windows=st.dictionaries(names, st.tuples(numbers, numbers, numbers, numbers)),
)
def test_what_is_written_is_read(
    triple: tuple[int | None, ...], windows: dict[str, tuple[int | None, ...]]
) -> None:
    fields = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")
    written = {field: str(n) for field, n in zip(fields, triple, strict=True) if n is not None}
    written["ratelimit-policy"] = ", ".join(
        item(name, q=q, w=w) for name, (q, w, _, _) in windows.items()
    )
    written["ratelimit"] = ", ".join(
        item(name, r=r, t=t) for name, (_, _, r, t) in windows.items()
    )

    found = read_limits(written) or Limits()

    assert (found.limit, found.remaining, found.reset_s) == triple
    assert found.windows == {
        name: Window(limit=q, span_s=w, remaining=r, reset_s=t)
        for name, (q, w, r, t) in windows.items()
    }


def item(name: str, **numbers: int | None) -> str:
    return f'"{name}"' + "".join(f";{k}={n}" for k, n in numbers.items() if n is not None)


def test_what_our_service_sends_is_read() -> None:
    with memory_service(1) as service:
        key = {"Authorization": f"Bearer {service.keys[0]}"}
        sent = httpx.get(f"{service.base_url}/usage", headers=key, trust_env=False).headers

    found = read_limits(sent)

    assert found is not None
    assert (found.limit, found.remaining) == (60, 60)
    assert found.windows["minute"] == Window(limit=6, span_s=60, remaining=6, reset_s=60)
    assert found.windows["day"].span_s == 86_400


@pytest.mark.parametrize(
    "value", ["", "x", "-1", "1.5", "\u0661", "9" * 40, '"', ";;;=,", '"a']
)
def test_what_is_malformed_is_left_out(value: str) -> None:
    assert read_retry_after({"retry-after": value}) is None
    assert read_limits({"ratelimit-limit": value}) is None
    found = read_limits({"ratelimit": value})
    assert found is None or all(w == Window() for w in found.windows.values())


def test_the_longest_of_what_is_full_counts() -> None:
    full = '"minute";r=0;t=20, "day";r=0;t=900, "more";r=1;t=9999'

    assert (read_limits({"ratelimit": full}) or Limits()).full_for_s() == 900
    assert Limits(remaining=1, reset_s=9).full_for_s() == 0


def test_a_date_is_counted_from_the_answers_own() -> None:
    at = "Sat, 21 Nov 2026 10:00:00 GMT"
    later = "Sat, 21 Nov 2026 10:01:30 GMT"

    assert read_retry_after({"retry-after": later, "date": at}) == 90
    assert read_retry_after({"retry-after": at, "date": later}) == 0
    assert read_retry_after({"retry-after": later}) is None
    assert read_retry_after({"retry-after": later, "date": "soon"}) is None
