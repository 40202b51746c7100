"""An address, as people write it."""

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from cs.client import Client, Unreachable

schemes = st.sampled_from(["http://", "https://", "http:/", "ftp://", ""])
pieces = st.sampled_from(
    ["a", "0", ".", "-", "xn--", "[", "]", ":", "::1", "@", "%", "/", "?", "#", " ", "\0"]
)
written = st.builds(
    lambda scheme, parts: scheme + "".join(parts),
    schemes,
    st.lists(pieces | st.characters(), max_size=8),
)


@given(written)
@example("http://xn--zzzzzzz-/v1")
@example(f"http://{'a' * 64}/v1")
@example("http://a.example/\udcff")
def test_whatever_is_written_makes_a_client_or_is_reported(url: str) -> None:
    with suppress(Unreachable):
        Client(url, "cs_live_x").close()
