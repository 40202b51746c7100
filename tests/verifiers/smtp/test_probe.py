from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.syntax import is_mailbox
from cs.verifiers.smtp.probe import (
    probe_names,
)


@given(st.from_regex(r"[a-z0-9]{1,20}\.(com|test)", fullmatch=True))
def test_names_are_mailboxes_nobody_has_and_replay(domain: str) -> None:
    random, human = probe_names(domain)

    assert random.isalnum()
    assert len(random) == 16
    assert [part.isalpha() for part in human.split(".")] == [True, True]
    assert is_mailbox(f"{random}@{domain}")
    assert is_mailbox(f"{human}@{domain}")
    assert probe_names(domain) == (random, human)


def test_domains_and_installations_have_names_of_their_own() -> None:
    names = {probe_names(f"d{n}.test", salt) for n in range(200) for salt in ("", "ours")}

    assert len({random for random, _ in names}) == 400
    assert len({human for _, human in names}) > 250
