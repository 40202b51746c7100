"""Our HMAC is the standard library's."""

import hmac

from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.hmac_sha256 import hmac_sha256


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_it_is_the_standard_librarys(key: bytes, message: bytes) -> None:
    assert hmac_sha256(key, message) == hmac.digest(key, message, "sha256")
