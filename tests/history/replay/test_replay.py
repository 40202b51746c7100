"""Replays of made-up histories; what rules change is tested through `cs replay`."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from cs.domain.brand.events import MailboxVerified
from cs.domain.codec import event_of
from cs.eventlog.port import EventLog
from cs.history.replay.replaying import ChargeDifference, Difference, Kind, Replay
from cs.history.replay.rules import BrokenRules, Rules, load_rules
from cs.keystore.port import KeyStore
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.replay.made_up import STRICTER, Looked, Seen, Stored, store


@pytest.fixture(scope="module")
def stricter(tmp_path_factory: pytest.TempPathFactory) -> Rules:
    path = tmp_path_factory.mktemp("rules") / "stricter.py"
    path.write_text(STRICTER)
    return load_rules(path)


class Found:
    """A replay's changed answers, changed charges, and its counts."""

    def __init__(self, replay: Replay, found: Sequence[Difference | ChargeDifference]) -> None:
        self.counts = replay
        self.differences = [each for each in found if isinstance(each, Difference)]
        charges = [each for each in found if isinstance(each, ChargeDifference)]
        self.charges = {(each.search.lookup, each.change) for each in charges}


async def replayed(log: EventLog, keys: KeyStore, kind: Kind, rules: Rules) -> Found:
    replay = Replay(log, keys, kind, rules)
    return Found(replay, [each async for part in replay.differences() for each in part])


async def made(history: Sequence[Looked]) -> tuple[MemoryEventLog, KeyStore, Stored]:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    return log, keys, await store(log, keys, history)


@pytest.mark.parametrize("state", [b"no event", b'{"at": "2026-03-01T00:00:00Z"}'])
async def test_a_run_with_a_damaged_event_is_left_out_and_the_event_named(
    stricter: Rules, state: bytes
) -> None:
    seen = (Seen("Senior Brand Manager at {}", "250 Ok for now"),)
    log, keys, stored = await made([Looked("Acme", seen), Looked("Acme", seen)])
    first, second = stored.lookups
    whole = await replayed(log, keys, "verdicts", stricter)
    [checked, _] = [
        each.position for each in await log.stored(0) if event_of(each.topic) is MailboxVerified
    ]
    log.spoil(checked, state)

    found = await replayed(log, keys, "verdicts", stricter)

    assert [each.lookup for each in whole.differences] == [first, second]
    assert [each.lookup for each in found.differences] == [second]
    assert found.charges == {(second, "lost")}
    assert (found.counts.lookups, found.counts.replayed) == (2, 1)
    assert found.counts.missed == {"one of its events cannot be read": 1}
    assert [*found.counts.damaged] == [checked]
    assert f"event {checked}, " in str(found.counts.damaged[checked])


@pytest.mark.parametrize(
    "returned",
    ["(ranked * 2, left_out)", "(ranked, [LeftOut('p9', 'x')])"],
    ids=["a person twice", "a person whom nobody found"],
)
async def test_a_ranking_is_of_the_people_who_were_found(tmp_path: Path, returned: str) -> None:
    log, keys, _ = await made(
        [Looked("Acme", (Seen("Social Media Manager at {}", "250 2.1.5 Ok"),))]
    )
    file = tmp_path / "rules.py"
    file.write_text(
        "from cs.domain.contact import LeftOut\n"
        "from cs.domain.ranking import rank as todays\n"
        "def rank(brand, people, limit, opinions):\n"
        "    ranked, left_out = todays(brand, people)\n"
        f"    return {returned}\n"
    )

    with pytest.raises(BrokenRules, match="names a person twice or one it was not given"):
        await replayed(log, keys, "ranking", load_rules(file))
