"""The loop of one service in memory: its roles, and both sides of its log and of its bus."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any, TypeVar

from msgspec.structs import replace

from cs.bus.memory import MemoryBus
from cs.bus.port import NO_HEADERS, Bus, BusUnavailable, Record
from cs.bus.topics import (
    DEAD_LETTERS,
    EVENTS,
    OUTCOMES,
    STAGE_TOPICS,
    UNREADABLE,
    decode_outcome,
    encode,
    work_key,
)
from cs.domain.brand.brand import decide
from cs.domain.brand.events import StageIssued, StartLookup
from cs.domain.causation import StartCause
from cs.domain.codec import AnyEvent
from cs.domain.key import KeyIssued, SearchAdmitted
from cs.domain.stages.work import AnyFinding, Outcome, Resolved, StageName, Work
from cs.eventlog.follow import VersionGate, follow
from cs.eventlog.open_work import OpenWork, UnfinishedWork
from cs.eventlog.port import NO_STREAM, Append, Ceiling, LogUnavailable
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.pipeline.driver import Driver
from cs.pipeline.feed import feed
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import GROUP, OutcomeRecorder
from cs.pipeline.receipts import Receipts
from cs.pipeline.relay import relay
from cs.pipeline.runner import Runner
from cs.pipeline.suppression import SuppressionFilter
from cs.plugins.stages import Report, Stage
from cs.projections.catalogue import projections
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from domain.acme_run import AT, QUERY, STREAM
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

E = TypeVar("E", bound=AnyEvent)
LOOKUP = f"{STREAM}.1"
RECEIPTS = Receipts(b"a secret that all roles share 32b")
VERIFIERS = ("smtp",)
#: The group of the test on every topic.
TEST = "test"


async def _no_match(_: Work, __: Report) -> AnyFinding:
    return Resolved(status="no_match")


@dataclass
class ScriptedStage:
    """A stage that does as the test says, and notes what it was given."""

    do: Callable[[Work, Report], Awaitable[AnyFinding]] = _no_match
    name: StageName = "brand-resolution"
    given: list[Work] = field(default_factory=list)

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        self.given.append(work)
        return await self.do(work, report)


def every_group() -> list[tuple[str, str]]:
    """Return the groups of all roles, and one of the test for each topic."""
    stages = [(topic, stage) for stage, topic in STAGE_TOPICS.items()]
    topics = [*STAGE_TOPICS.values(), OUTCOMES, DEAD_LETTERS, EVENTS]
    return [*stages, (OUTCOMES, GROUP), *((topic, TEST) for topic in topics)]


class RefusingBus(MemoryBus):
    """A bus that refuses the records for which *refuses*, of topic, key and value, is true."""

    def __init__(self, refuses: Callable[[str, bytes, bytes], bool]) -> None:
        super().__init__(every_group())
        self.refuses = refuses
        self.refused = 0

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if self.refuses(topic, key, value):
            self.refused += 1
            raise BusUnavailable("it is full")
        await super().publish(topic, key=key, value=value, headers=headers)


class FailingLog(MemoryEventLog):
    """A log whose appends to streams that exist fail, or wait, as the test says.

    Attributes:
        errors: Raised by the next appends, the last first, which then store nothing.
        lost_answers: So many appends are stored, and are answered as if it were not known.
        holds: What the names of streams begin with whose appends wait for `released`.
        held: The streams whose appends wait.
    """

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.errors: list[Exception] = []
        self.lost_answers = 0
        self.holds: tuple[str, ...] = ()
        self.held: asyncio.Queue[str] = asyncio.Queue()
        self.released = asyncio.Event()

    def unavailable(self, times: int, *, stored: bool) -> None:
        """Make the next *times* appends fail, after they were *stored* or before."""
        self.lost_answers = times if stored else 0
        self.errors = [] if stored else [LogUnavailable("no answer") for _ in range(times)]

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if self.holds and appends[0].stream.startswith(self.holds):
            self.held.put_nowait(appends[0].stream)
            await self.released.wait()
        if self.errors and appends[0].expected != NO_STREAM:
            raise self.errors.pop()
        position = await super().append(appends, ceiling)
        if self.lost_answers:
            self.lost_answers -= 1
            raise LogUnavailable("the answer was lost")
        return position


class NothingOpen:
    """Views that reflect nothing yet."""

    async def unfinished(self) -> UnfinishedWork:
        return UnfinishedWork(0, (), ())


class Loop:
    """The log, the views and the time, which outlive a process, and the bus of this one."""

    def __init__(self, log: MemoryEventLog | None = None, bus: MemoryBus | None = None) -> None:
        self.keys = MemoryKeyStore()
        self.log = log or MemoryEventLog(self.keys)
        self.streams = Streams(self.log)
        self.clock = ManualClock(AT)
        self.bus: Bus = bus or MemoryBus(every_group())
        self.others = 0

    @cached_property
    def views(self) -> Views:
        """Views in memory; a test with a process manager closes them."""
        return sqlite_views(None, projections())

    # The roles.

    @asynccontextmanager
    async def running(self, *roles: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        """Run *roles* until left; one that ends before has failed the test."""
        tasks = [asyncio.create_task(role) for role in roles]
        try:
            yield
            ended = [task.exception() for task in tasks if task.done()]
            assert not ended, ended
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def process_manager(self, *, restart_work: bool = True) -> AsyncIterator[None]:
        """Run one, fresh as after a start, until left; its bus starts empty."""
        self.bus = MemoryBus(every_group())
        runner = ViewRunner(self.log, self.views, self.keys)
        await runner.catch_up()
        reading = Reading(self.log, self.views, runner, self.keys)
        heartbeats = MemoryHeartbeats(self.clock.monotonic)
        recorder = self.recorder(heartbeats)
        drive = partial(self.drive, reading, heartbeats, restart_work=restart_work)
        gate = VersionGate("driver")
        async with self.running(recorder.run(), gate.until_read(drive)):
            yield

    async def drive(
        self,
        open_work: OpenWork | None = None,
        heartbeats: MemoryHeartbeats | None = None,
        *,
        restart_work: bool = False,
    ) -> None:
        """Drive lookups for ever; without *open_work* it goes by the log from its beginning."""
        await Driver(
            Streams(self.log),
            open_work or NothingOpen(),
            self.clock,
            heartbeats or MemoryHeartbeats(self.clock.monotonic),
            restart_work=restart_work,
        ).run()

    def recorder(
        self, heartbeats: MemoryHeartbeats | None = None, **more: Any
    ) -> OutcomeRecorder:
        """Return a recorder alone, as in a process of its own."""
        return OutcomeRecorder(
            Streams(self.log),
            self.bus,
            self.clock,
            heartbeats or MemoryHeartbeats(self.clock.monotonic),
            receipts=RECEIPTS,
            verifiers=VERIFIERS,
            **more,
        )

    def stage(self, stage: Stage, *, drain_s: float = 0) -> Coroutine[Any, Any, None]:
        """Return the worker of *stage*."""
        return Runner(stage, self.bus, self.clock, drain_s=drain_s).run()

    def relay(
        self, after: int = 0, saved: list[int] | None = None
    ) -> Coroutine[Any, Any, None]:
        """Return the relay; with *saved* it offers work until its deadline, and saves there."""
        if saved is None:
            return relay(self.log, self.bus, after=after, receipts=RECEIPTS)

        async def save(position: int) -> None:
            saved.append(position)

        return relay(
            self.log,
            self.bus,
            after=after,
            receipts=RECEIPTS,
            deadline_clock=self.clock,
            save_position=save,
        )

    def feed(
        self, save: Callable[[int], Awaitable[None]], after: int = 0
    ) -> Coroutine[Any, Any, None]:
        return feed(self.log, self.bus, after=after, save_position=save)

    # What is said on the bus.

    async def put(
        self,
        topic: str,
        value: bytes,
        key: bytes = b"",
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        await self.bus.publish(topic, key=key, value=value, headers=headers)

    async def give(self, *works: Work) -> None:
        """Put *works* on the topics of their stages."""
        for each in works:
            await self.put(STAGE_TOPICS[each.stage], encode(each), work_key(each))

    async def answer(self, *outcomes: Outcome) -> None:
        """Put *outcomes* on their topic as they are."""
        for each in outcomes:
            await self.put(OUTCOMES, encode(each), each.lookup.encode())

    async def say(
        self,
        stage: StageName,
        finding: AnyFinding,
        *,
        item: str = "",
        attempt: int = 1,
        lookup: str = LOOKUP,
    ) -> None:
        """Answer work as the stage that it was issued to."""
        outcome = Outcome(
            lookup=lookup, stage=stage, item=item, attempt=attempt, finding=finding
        )
        await self.answer(receipted(outcome))

    async def records(
        self, count: int, topic: str = OUTCOMES, *, within_s: float = 10
    ) -> list[Record]:
        """Return the next *count* records of *topic*."""
        taken: list[Record] = []
        async with asyncio.timeout(within_s), self.bus.subscribe(topic, group=TEST) as records:
            async for record in records:
                await records.commit(record)
                taken.append(record)
                if len(taken) == count:
                    break
        return taken

    async def outcomes(self, count: int) -> list[Outcome]:
        """Return the next *count* outcomes; what else is on their topic is passed over."""
        taken: list[Outcome] = []
        while len(taken) < count:
            (record,) = await self.records(1)
            with suppress(*UNREADABLE):
                taken.append(decode_outcome(record.value))
        return taken

    async def letters(self, count: int) -> list[Record]:
        return await self.records(count, DEAD_LETTERS)

    # What the API does.

    async def append(self, stream: str, *events: AnyEvent) -> None:
        last = len(await self.log.read(stream)) - 1
        await self.log.append([Append(stream, last, events)])

    async def key(self, key_id: str, quota: int = 5) -> None:
        issued = KeyIssued(label="test", quota=quota, secret_hash=key_id, last4="", at=AT)
        await self.append(f"key-{key_id}", issued)

    async def search(self, search: str, key_id: str, lookup: str = LOOKUP) -> None:
        """Admit *search* to *lookup*, whether it runs or not."""
        admitted = SearchAdmitted(
            search=search, brand="Acme", query=QUERY, lookup=lookup, at=self.clock.now()
        )
        await self.streams.change(f"key-{key_id}", lambda _: [admitted], caused_by=StartCause())

    async def start(self, deadline_s: float = 120, *, stream: str = STREAM) -> None:
        """Start a lookup on a brand, Acme unless another is named."""
        command = StartLookup(
            stream=stream,
            query=QUERY,
            deadline=timedelta(seconds=deadline_s),
            at=self.clock.now(),
        )
        await self.streams.change(
            stream, lambda state: decide(command, state), caused_by=StartCause()
        )

    def passes(self, seconds: float) -> None:
        self.clock.set(self.clock.now() + timedelta(seconds=seconds))

    # What came of it.

    async def caught_up(self) -> None:
        """Return once the process manager knows all that is in the log and was said.

        Another brand's run is ended and settled: by then it has read up to there.
        """
        self.others += 1
        stream, key_id = f"brand-other{self.others}", f"other{self.others}"
        await self.key(key_id)
        await self.start(stream=stream)
        await self.search(stream, key_id, f"{stream}.1")
        await self.say("brand-resolution", Resolved(status="no_match"), lookup=f"{stream}.1")
        async with asyncio.timeout(10):
            async for page in follow(self.log, 0):
                if any(
                    getattr(r.event, "outcome", "") and r.stream == f"key-{key_id}"
                    for r in page
                ):
                    return

    async def event(self, kind: type[E], count: int = 1, **like: object) -> E:
        """Return the event of *kind* that comes as number *count*; wait for it.

        With *like* only events count whose attributes are these.
        """
        left = count
        async with asyncio.timeout(10):
            async for page in follow(self.log, 0):
                for each in (recorded.event for recorded in page):
                    if isinstance(each, kind) and all(
                        getattr(each, name) == value for name, value in like.items()
                    ):
                        left -= 1
                        if left == 0:
                            return each
        raise AssertionError

    async def events(self, kind: type[E]) -> list[E]:
        """Return the events of *kind* there are."""
        tail = await self.log.tail(0, 10_000)
        return [r.event for r in tail if isinstance(r.event, kind)]

    async def attempt(self, number: int, stream: str = STREAM) -> None:
        """Wait until attempt *number* is issued in *stream*."""
        await self.event(StageIssued, lookup=f"{stream}.1", attempt=number)

    async def issued(self, stream: str = STREAM) -> list[int]:
        """Return the attempts issued in a brand's stream."""
        events = [r.event for r in await self.log.read(stream)]
        return [event.attempt for event in events if isinstance(event, StageIssued)]


def suppressing_no_person(keys: KeyStore) -> SuppressionFilter:
    """Return what looks for suppressed people where there are none."""

    async def erase(*_: object) -> None:
        raise AssertionError("no person is suppressed")

    return SuppressionFilter(keys, erase)


def message(each: Work | Outcome) -> bytes:
    """Return *each* as it is written to a topic."""
    return encode(each)


def receipted(outcome: Outcome) -> Outcome:
    """Return *outcome* with the receipt of the work that it answers."""
    receipt = RECEIPTS.of(outcome.lookup, outcome.stage, outcome.item)
    return replace(outcome, receipt=receipt)


async def until(true: Callable[[], bool]) -> None:
    """Return once *true* is."""
    async with asyncio.timeout(10):
        while not true():
            await turns(1)


async def turns(count: int) -> None:
    """Let everything that can go on go on, *count* times."""
    for _ in range(count):
        await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
