from hypothesis import given
from hypothesis import strategies as st

from cs.domain.mail.syntax import is_mailbox
from cs.verifiers.smtp.probe import (
    BELIEVED_S,
    ProbeMemory,
    ProbeOutcome,
    ProbeResult,
    probe_names,
)
from verifiers.smtp.mail_world import Clock

REFUSED = ProbeResult(ProbeOutcome.REFUSED)


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


def test_what_is_no_longer_believed_is_forgotten() -> None:
    clock = Clock()
    memory, most = ProbeMemory(clock), 0
    for day in range(30):
        for n in range(20):
            memory.put(f"d{day}.brand{n}.test", "192.0.2.1", REFUSED)
        most = max(most, len(memory))
        clock.seconds += 4 * BELIEVED_S

    assert most == 20


def test_the_oldest_is_forgotten_first() -> None:
    memory = ProbeMemory(Clock())

    for n in range(5_000):
        memory.put(f"d{n}.test", "192.0.2.1", REFUSED)

    assert memory.get("d0.test", "192.0.2.1") is None
    assert memory.get("d4999.test", "192.0.2.1") == REFUSED
    assert sum(memory.get(f"d{n}.test", "192.0.2.1") is not None for n in range(5_000)) == 4_096
