"""The whole service against a simple model: restarts, messages repeated, late and lost,
silence, clock steps.

The model knows what docs/contract.md promises, not how it is kept.  Every call's answer is
foretold; after every step the log is audited and every finished search read again, and at the
end every event is asked for its cause.  Work
that is lost more often than silence makes it be issued again may end with its deadline.
"""

import asyncio
import random
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cs.domain.brand.events import LookupStarted
from cs.domain.contact import BrandFacts
from cs.domain.messages import STANDS_STILL
from harness.in_process import in_memory
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, ADA, BEN, tools
from harness.stores import violations
from system.loop.causes import check_against_the_events, check_chains, explained
from system.loop.unreliable_bus import Lost, Silences, UnreliableBus

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 1, tzinfo=UTC)
REUSED_FOR = timedelta(days=30)
#: Brand as asked -> how a live search for it ends.
ENDS = {"Acme": "done", "Bolt": "no_contacts", "Nobody": "no_linkedin"}
BOLT = BrandFacts(name="Bolt", domain="bolt.test", mail_domains=("bolt.test",))

steps = st.one_of(
    st.integers(-3600, 3600), st.integers(0, 86_400), st.sampled_from([61, 86_400, 31 * 86_400])
)


@dataclass
class ModelKey:
    secret: Any
    quota: int
    used: int = 0
    last: datetime = START
    counted: list[datetime] = field(default_factory=list)

    def refusal(self, at: datetime) -> int | None:
        if self.used >= self.quota:
            return 402
        minute = sum(at - when < timedelta(seconds=60) for when in self.counted)
        day = sum(at - when < timedelta(days=1) for when in self.counted)
        return 429 if minute >= 6 or day >= 60 else None


class ServiceMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 2**32), quotas=st.tuples(*[st.integers(1, 9)] * 2))
    def begin(self, seed: int, quotas: tuple[int, int]) -> None:
        self.loop = asyncio.Runner()
        self.chance = random.Random(seed)
        self.clock = ManualClock(START)
        self.latest = START
        self.real = ManualClock(START)
        self.lost = Lost(set)
        self.data_keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.data_keys)
        self.finished_at: dict[str, datetime] = {}
        self.brand_last: dict[str, datetime] = {}
        self.answers: dict[str, tuple[ModelKey, dict[str, Any]]] = {}
        self.loop.run(self.start())
        self.keys = [
            ModelKey(self.loop.run(self.running.new_key(quota)), quota) for quota in quotas
        ]

    async def start(self) -> None:
        self.stack = AsyncExitStack()
        self.bus = UnreliableBus(self.chance, self.lost)
        since = await self.log.head()
        self.running = await self.stack.enter_async_context(
            in_memory(
                tools((ADA, BEN), brands={"acme": ACME, "bolt": BOLT}),
                keys=self.data_keys,
                log=self.log,
                bus=self.bus,
                clock=self.clock,
                real=self.real,
            )
        )
        self.service = self.running.running
        self.silences = Silences(self.service, self.bus, self.real, since)

    async def call(self, key: ModelKey, method: str, path: str, body: Any = None) -> Any:
        async with self.running.client(key.secret) as client:
            return await client.request(method, path, json=body)

    async def post(self, key: ModelKey, body: dict[str, Any]) -> Any:
        """Search; let silences pass until there is an answer."""
        answered = asyncio.ensure_future(self.call(key, "POST", "/contacts", body))
        await self.silences.until(answered)
        return await answered

    async def until_settled(self, search: str) -> bool:
        """Let silences pass until *search* is; say whether its deadline had to pass too."""
        settled = asyncio.ensure_future(self.service.reading.until_settled(search))
        await self.silences.rest()
        while not settled.done() and not self.bus.gave_up():
            self.silences.let_one_pass()
            await self.silences.rest()
        gave_up = not settled.done()
        if gave_up:
            self.clock.set(max(self.clock.now(), await self.deadline()))
        await self.silences.until(settled)
        return gave_up

    async def deadline(self) -> datetime:
        """Return the deadline of the lookup that was started last."""
        events = [recorded.event for recorded in await self.log.tail(0, 100_000)]
        return [e.deadline_at for e in events if isinstance(e, LookupStarted)][-1]

    @rule(
        who=st.integers(0, 1),
        brand=st.sampled_from(sorted(ENDS)),
        dies=st.booleans(),
        losing=st.sampled_from([0.0, 0.1, 0.3, 0.9]),
    )
    def ask(self, who: int, brand: str, dies: bool, losing: float) -> None:
        """Search while messages are lost; if it *dies*, the service is stopped at once and
        started again."""
        key = self.keys[who]
        at = max(self.clock.now(), key.last)
        refused = key.refusal(at)
        finished = self.finished_at.get(brand)
        cached = finished is not None and at - finished < REUSED_FOR
        live = refused is None and not cached
        ends = ENDS[brand]
        held = not dies and not losing
        self.bus.losing = losing
        answer = self.loop.run(self.post(key, {"brand": brand, "wait": held}))
        expected = 202 if live and not held else 200
        assert answer.status_code == (refused or expected), answer.text
        if refused is not None:
            return
        record = answer.json()
        if live and not held:
            if dies:
                self.restart()
                self.bus.losing = losing
            gave_up = self.loop.run(self.until_settled(record["id"]))
            record = self.loop.run(self.call(key, "GET", f"/searches/{record['id']}")).json()
            if gave_up and record.get("reason") == "timeout":
                ends = "timeout"
            self.bus.losing = 0.0
            self.lost.clear()
        key.last = at
        key.counted.append(at)
        done = ends == "done"
        key.used += done
        if live:
            self.brand_last[brand] = max(self.clock.now(), self.brand_last.get(brand, at), at)
            if ends != "timeout":
                self.finished_at[brand] = self.brand_last[brand]
            key.last = max(key.last, self.clock.now())
        assert record["status"] == ("done" if done else "failed"), record
        assert record.get("reason") == (None if done else ends)
        assert (record["cached"], record["charged"]) == (cached, done)
        assert record["usage"] == {
            "quota": key.quota,
            "used": key.used,
            "remaining": key.quota - key.used,
        }
        record.pop("usage")
        self.answers[record["id"]] = (key, record)

    @rule()
    def silence(self) -> None:
        """Let a silence pass though no work is in hand."""
        self.silences.let_one_pass()
        self.loop.run(self.silences.rest())

    @rule()
    def restart(self) -> None:
        """Stop at once and start again; the bus and the views forget everything."""
        self.loop.run(self.stack.aclose())
        self.loop.run(self.start())

    @rule(seconds=steps)
    def step(self, seconds: int) -> None:
        """Step the clock, back by no more than makes it stand still (contract L16).

        A clock that was further ahead is tried in `tests/runtime/clock/test_event_times.py`.
        """
        now = self.clock.now()
        self.latest = max(self.latest, now)
        self.clock.set(max(now + timedelta(seconds=seconds), self.latest - STANDS_STILL))

    @rule(who=st.integers(0, 1), units=st.integers(1, 5))
    def grant(self, who: int, units: int) -> None:
        key = self.keys[who]
        key.last = max(key.last, self.clock.now())
        key.quota += units
        self.loop.run(self.running.operator.grant_quota(key.secret.id, units))

    @invariant()
    def the_log_keeps_every_promise(self) -> None:
        assert self.loop.run(violations(self.log)) == ([], 0)

    async def every_event_has_its_cause(self) -> None:
        """Every chain of causes ends at a caller, an operator or time."""
        events = await self.log.tail(0, 100_000)
        assert [each for each in events if each.caused_by is None] == []
        why = await explained(self.log)
        check_chains(why)
        check_against_the_events(events, why)

    @invariant()
    def answers_stay_as_they_were(self) -> None:
        for search, (key, record) in list(self.answers.items())[-3:]:
            found = self.loop.run(self.service.reading.search(search, key.secret.id))
            assert found is not None
            assert found.row.charged == record["charged"]
            assert found.row.status == record["status"]
            assert found.usage.used == key.used

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.run(self.every_event_has_its_cause())
            self.loop.run(self.stack.aclose())
            self.loop.close()


ServiceMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None
)
TestService = ServiceMachine.TestCase
