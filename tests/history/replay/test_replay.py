"""Replays of made-up histories; what rules change is tested through `cs replay`."""

from pathlib import Path
from typing import Any

import pytest

from cs.domain.brand.events import MailboxVerified
from cs.domain.codec import event_of
from cs.history.replay.replaying import Difference, Kind, Replay
from cs.history.replay.rules import BrokenRules, load_rules
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from history.replay.made_up import STRICTER, Looked, Seen, store

RANK = "def rank(brand, people, limit, opinions):\n"
TODAY = (
    "from cs.domain.contact import LeftOut\n"
    "from cs.domain.ranking import rank as todays\n"
    f"{RANK}    ranked, left_out = todays(brand, people)\n"
)


class Made:
    """A history that is stored, and replays of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "rules.py"
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)

    async def looked(self, headline: str, reply: str, lookups: int = 1) -> None:
        looked = Looked("Acme", (Seen(headline, reply),))
        self.lookups = await store(self.log, self.keys, [looked] * lookups)

    async def replayed(self, kind: Kind, source: str) -> tuple[Replay, list[Any]]:
        """Return the counts, and what would differ, by the rules in *source*."""
        self.file.write_text(source)
        replay = Replay(self.log, self.keys, kind, load_rules(self.file))
        return replay, [each async for part in replay.differences() for each in part]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.mark.parametrize("state", [b"no event", b'{"at": "2026-03-01T00:00:00Z"}'])
async def test_a_run_with_a_damaged_event_is_left_out_and_the_event_named(
    made: Made, state: bytes
) -> None:
    await made.looked("Senior Brand Manager at {}", "250 Ok for now", 2)
    first, second = made.lookups
    _, whole = await made.replayed("verdicts", STRICTER)
    stored = await made.log.stored(0)
    [checked, _] = [e.position for e in stored if event_of(e.topic) is MailboxVerified]
    made.log.spoil(checked, state)

    counts, found = await made.replayed("verdicts", STRICTER)

    assert [e.lookup for e in whole if isinstance(e, Difference)] == [first, second]
    difference, charge = found
    assert difference.lookup == charge.search.lookup == second
    assert charge.change == "lost"
    assert (counts.lookups, counts.replayed) == (2, 1)
    assert counts.missed == {"one of its events cannot be read": 1}
    assert [*counts.damaged] == [checked]
    assert f"event {checked}, " in str(counts.damaged[checked])


@pytest.mark.parametrize(
    ("kind", "source", "why"),
    [
        ("ranking", "def rank(brand, people, limit:\n", "SyntaxError: […] was never closed"),
        ("ranking", "import nowhere\n", "line 1, when it was read: ModuleNotFoundError"),
        ("ranking", "\0", "null bytes"),
        ("ranking", "x = 1\n", "defines none of rank(), read_reply(), conclude()"),
        ("ranking", f"{RANK}    best = 1\n    best / 0\n", "line 3, in rank(): ZeroDivision"),
        (
            "ranking",
            f"{RANK}    return people\n",
            "line 1: rank() returns who is shown, as RankedPerson, and who is not",
        ),
        (
            "verdicts",
            "def read_reply(evidence):\n    return 'Jo Ann', 'why'\n",
            "line 1: read_reply() returns a verdict and why, or None: Invalid enum value […]",
        ),
        ("verdicts", "def conclude(tried):\n    return 1\n", "conclude() returns a Conclusion"),
        # A ranking is of the people who were found.
        ("ranking", f"{TODAY}    return ranked * 2, left_out\n", "names a person twice or one"),
        (
            "ranking",
            f"{TODAY}    return ranked, [LeftOut('p9', 'x')]\n",
            "names a person twice or one it was not given",
        ),
    ],
)
async def test_what_is_wrong_with_a_file_is_reported_with_its_line(
    made: Made, kind: Kind, source: str, why: str
) -> None:
    await made.looked("Social Media Manager at {}", "250 2.1.5 Ok")

    with pytest.raises(BrokenRules) as broken:
        await made.replayed(kind, source)

    assert made.file.name in str(broken.value)
    assert why in str(broken.value)


async def test_a_file_has_its_own_functions_and_todays_for_the_rest(made: Made) -> None:
    await made.looked("Social Media Manager at {}", "250 2.1.5 Ok")
    nobody = f"{RANK}    return (), ()\n"

    _, ranked = await made.replayed("ranking", nobody)
    counts, judged = await made.replayed("verdicts", nobody)

    assert {each.change for each in ranked} == {"lost"}
    assert (counts.replayed, judged) == (1, [])


def test_what_is_no_file_of_rules_is_reported(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "nowhere.py", "FileNotFoundError"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(BrokenRules, match=why):
            load_rules(path)
