"""A service that lives through a history; every answer is kept with its position.

Its clock is moved by hand.  It is stopped and started again on the same stores, people are
erased, age out and are found again, and all the while every search is read over HTTP.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cs.domain.brand.events import LookupFinished
from cs.domain.contact import Query
from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.operations.operator import NewSecret
from cs.plugins.verifiers import DomainCheck
from cs.settings import Settings
from harness.in_process import Service, one_process
from harness.manual_clock import ManualClock
from harness.outside import ADA, BEN, CID
from harness.stores import Stores, opened
from operations.erasure.service import ADA_MAILBOX, BEN_MAILBOX, Waits, at_zenith, outside

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)
#: By the name that erasing them goes by.
PEOPLE = {"Ada Kern": ADA, "Ben Ode": BEN, "Cid Fell": CID}
#: The last holds markup, which is text on a page.
BRANDS = ("Acme", "acme", "Zenith", "Nobody's <img src=x onerror=alert(1)>")


class InFolder:
    def __init__(self, folder: Path) -> None:
        self.settings = Settings(data_dir=folder)

    def stores(self) -> AbstractAsyncContextManager[Stores]:
        return opened(self.settings.data_dir)


@dataclass
class Conversing(Waits):
    """Has a conversation with a mail server about each address."""

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        async with super().open(mail_domain, known) as check:
            yield ConversingCheck(check)


@dataclass
class ConversingCheck:
    check_silently: DomainCheck
    learned: DomainFacts = DomainFacts()

    async def check(self, address: str) -> Evidence:
        found = await self.check_silently.check(address)
        exists = found.verdict is Verdict.DELIVERABLE
        reply = "250 2.1.5 Ok" if exists else f"550 5.1.1 <{address}>: no such user"
        lines = (
            Line(at_ms=0, who="C", text="MAIL FROM:<probe@ours.test>"),
            Line(at_ms=3, who="S", text="250 2.1.0 Ok"),
            Line(at_ms=4, who="C", text=f"RCPT TO:<{address}>"),
            Line(at_ms=9, who="S", text=reply),
        )
        return msgspec.structs.replace(found, conversation=lines, mx="mx.acme.test")


class Answer(msgspec.Struct, frozen=True):
    """What the API said of a search, and the last position of the log after it."""

    search: str
    after: int
    body: bytes


@dataclass
class Lifetime:
    """Use `lived`."""

    place: InFolder
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    answers: list[Answer] = field(default_factory=list)
    searches: dict[str, NewSecret] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    keys: list[NewSecret] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mailboxes = Conversing(frozenset({ADA_MAILBOX, BEN_MAILBOX, "akern@zenith.test"}))
        self.mailboxes.told.set()
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        self._stack = AsyncExitStack()
        self.stores = await self._stack.enter_async_context(self.place.stores())
        self.stores.clock = self.clock
        tools = outside((ADA, BEN, CID), (at_zenith(ADA), at_zenith(CID)), self.mailboxes)
        self.service: Service = await self._stack.enter_async_context(
            one_process(
                self.stores.log, self.stores.keys, self.stores.views, tools, clock=self.clock
            )
        )

    async def stop(self) -> None:
        await self._stack.aclose()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def step(self, seconds: int) -> None:
        self.clock.set(self.clock.now() + timedelta(seconds=seconds))

    async def new_key(self, quota: int = 20) -> None:
        self.keys.append(await self.service.operator.create_key("lived", quota))

    async def ask(self, who: int, brand: str) -> None:
        """Search *brand* to its end, if a limit does not refuse it."""
        self.step(61)
        answer = await self._ended(self.service.search(self.keys[who], brand=brand))
        await self._answered(who, answer)

    async def ask_meanwhile(self, who: int, brand: str) -> str | None:
        """Search *brand* while no mail server answers; return the search, if it runs."""
        self.step(61)
        self.mailboxes.told.clear()
        self.mailboxes.asked.clear()
        async with self.service.client(self.keys[who]) as client:
            answer = await client.post("/contacts", json={"brand": brand})
        await self._answered(who, answer)
        if answer.status_code != 202:
            self.mailboxes.told.set()
            return None
        found: str = answer.json()["id"]
        return found

    async def until_asked(self, search: str) -> None:
        """Return when a mail server is asked, or *search* has ended; work may be retried."""
        ways = (
            asyncio.ensure_future(self.mailboxes.asked.wait()),
            asyncio.ensure_future(self.service.running.reading.until_settled(search)),
        )
        try:
            await self._ended(_first_of(ways))
        finally:
            for way in ways:
                way.cancel()

    async def answer_all(self) -> None:
        """Let mail servers answer, and every search end: retries are made as they are due."""
        self.mailboxes.told.set()
        for search in self.searches:
            await self._ended(self.service.running.reading.until_settled(search))

    async def _ended(self, what: Coroutine[Any, Any, T]) -> T:
        """Return what *what* comes to; the clock is moved on while it is waited for."""
        task = asyncio.ensure_future(what)
        while not (await asyncio.wait([task], timeout=0.5))[0]:
            self.step(5)
        return await task

    async def _answered(self, who: int, answer: Any) -> None:
        assert answer.status_code in {200, 202, 402, 429}, answer.text
        if answer.status_code in {200, 202}:
            self.searches[answer.json()["id"]] = self.keys[who]

    async def erase(self, name: str) -> None:
        await self.stores.erasure.erase_profile(PEOPLE[name].linkedin_url or "")
        self.erased.add(name)

    async def age_out(self) -> None:
        """Forget the people of the run that ended last; they may be found again."""
        last = (await self.stores.events(LookupFinished))[-1]
        await self.stores.erasure.age_out([last.lookup])

    async def forget(self, brand: str) -> None:
        await self.service.operator.forget_brand(Query(brand=brand))

    async def grant(self, who: int, units: int) -> None:
        await self.service.operator.grant_quota(self.keys[who].id, units)

    async def read_all(self) -> None:
        """Read every search over HTTP, and keep what is answered."""
        for search in self.searches:
            await self._read(search)

    async def _read(self, search: str) -> None:
        async with self.service.client(self.searches[search]) as client:
            answer = await client.get(f"/searches/{search}")
        after = await self.stores.log.head()
        if answer.status_code == 429:
            return
        assert answer.status_code == 200, answer.text
        self.answers.append(Answer(search, after, answer.content))

    def as_left(self, answer: Answer) -> bytes:
        """Return what was answered, without the people who were erased since.

        Who is left is what the API said of that search last; nobody named in an erasure is.
        """
        plain = msgspec.json.decode(answer.body)
        if "contacts" in plain:
            last = next(each for each in reversed(self.answers) if each.search == answer.search)
            left = {each["full_name"] for each in msgspec.json.decode(last.body)["contacts"]}
            assert not left & self.erased
            plain["contacts"] = [
                each for each in plain["contacts"] if each["full_name"] in left
            ]
        return msgspec.json.encode(plain)


@asynccontextmanager
async def lived(place: InFolder, keys: int = 2) -> AsyncIterator[Lifetime]:
    """Yield a service that has *keys* and has done nothing yet."""
    lifetime = Lifetime(place)
    await lifetime.start()
    try:
        for _ in range(keys):
            await lifetime.new_key()
        yield lifetime
    finally:
        lifetime.mailboxes.told.set()
        await lifetime.stop()


async def _first_of(ways: Sequence["asyncio.Future[Any]"]) -> None:
    """Return when one of *ways* is over."""
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)


async def live_long(lifetime: Lifetime) -> None:
    """Live through searches, reuse, joins, restarts and erasures in between."""
    await lifetime.ask(0, "Acme")
    await lifetime.read_all()
    await lifetime.ask(1, "acme")  # reused
    await lifetime.ask(0, BRANDS[-1])
    await lifetime.grant(1, 5)
    await lifetime.read_all()
    if zenith := await lifetime.ask_meanwhile(0, "Zenith"):  # else it is reused
        await lifetime.until_asked(zenith)  # what is restarted below is its verification
    await lifetime.read_all()
    await lifetime.ask_meanwhile(1, "Zenith")  # joins
    await lifetime.read_all()
    await lifetime.restart()
    await lifetime.read_all()
    await lifetime.answer_all()
    await lifetime.read_all()
    await lifetime.erase("Ben Ode")
    await lifetime.read_all()
    await lifetime.forget("Acme")
    await lifetime.ask(0, "Acme")
    await lifetime.read_all()
    lifetime.step(31 * 86_400)
    if acme := await lifetime.ask_meanwhile(1, "Acme"):
        await lifetime.until_asked(acme)
    await lifetime.erase("Ada Kern")  # while it runs
    await lifetime.read_all()
    await lifetime.answer_all()
    await lifetime.restart()
    await lifetime.read_all()
    await lifetime.ask(1, "Zenith")
    await lifetime.read_all()
