"""An address, as people write it."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cs.client import Unreachable
from cs.client.wire import checked_address, client_options, direct_transport

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
def test_whatever_is_written_can_be_called_or_is_told(url: str) -> None:
    with suppress(Unreachable):
        where = checked_address(url, "cs_live_x")

        direct_transport(where, dict)
        host = client_options(where, "cs_live_x")["base_url"]
        assert host.startswith(("http://", "https://"))


def test_a_proxy_that_the_environment_names_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "inside.example")

    assert direct_transport("https://a.example/v1", dict) is None
    assert direct_transport("https://inside.example/v1", dict) is not None
    assert direct_transport("https://localhost/v1", dict) is not None
