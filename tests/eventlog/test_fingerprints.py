"""Whatever stands where an address should be has a fingerprint."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.eventlog.fingerprints import email_print, fingerprints
from harness.memory_keys import MemoryKeyStore
from pipeline.hostile_messages import TEXTS

KEYS = MemoryKeyStore()
ANY = st.text(st.characters(exclude_categories=())) | st.sampled_from(TEXTS)


@given(ANY, ANY, ANY)
def test_no_text_is_without_a_fingerprint(one: str, two: str, three: str) -> None:
    assert email_print(KEYS, one)
    for value in (
        {"email": one, "address": two, "addresses": [three], "linkedin_url": one},
        {"full_name": one, "company": two},
    ):
        assert all(fingerprints(KEYS, value))


@pytest.mark.parametrize("local", ["jane", "ĳane"])
def test_no_domain_is_without_a_fingerprint(local: str) -> None:
    assert email_print(KEYS, f"{local}@exämple..de")
    assert email_print(KEYS, f"{local}@{'ä' * 100_000}")


def test_however_its_domain_is_written_a_mailbox_is_one() -> None:
    assert email_print(KEYS, "Jane@EXÄMPLE.de ") == email_print(KEYS, "jane@xn--exmple-cua.de")
