"""Questions asked through the register, as plug-ins ask them, also after a restart."""

import asyncio
import stat
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cs.assembly.folder import open_folder, open_paid_calls
from cs.assembly.plugins import open_plugins
from cs.domain.contact import BrandFacts
from cs.metrics.metrics import Metrics
from cs.outside.port import Forbidden, Unreachable
from cs.paid_calls.current_work import set_current_lookup
from cs.paid_calls.errors import CallsUnavailable, NotAsked, NotCharged, Unanswered
from cs.paid_calls.problems import NotSentProblem, ProblemKind
from cs.paid_calls.register import (
    EVERY_TIME,
    BeginResult,
    CallInFlight,
    CallLease,
    CallRegister,
    PaidCall,
    PaidCalls,
)
from cs.plugins.sources import SourceStatus
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings, load
from harness.places import calls_in
from outside.loopback_web import pages, serve


@dataclass
class Provider:
    """Answers as the test says, and notes the keys it was asked with."""

    say: Callable[[], Awaitable[bytes]]
    keys: list[str] = field(default_factory=list)

    async def __call__(self, key: str) -> bytes:
        self.keys.append(key)
        return await self.say()


def saying(answer: bytes) -> Provider:
    async def say() -> bytes:
        return answer

    return Provider(say)


def raising(error: Exception) -> Provider:
    async def say() -> bytes:
        raise error

    return Provider(say)


@dataclass
class Held:
    """A provider that answers when its test lets it."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)
    times: int = 0

    async def __call__(self, key: str) -> bytes:
        del key
        self.times += 1
        self.asked.set()
        await self.let.wait()
        return b"said"


class Away(CallRegister):
    """A register that cannot be reached, at all or for what comes after the beginning."""

    def __init__(self, behind: CallRegister | None = None) -> None:  # no database of its own
        self._behind = behind

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        if self._behind is None:
            raise CallsUnavailable("away")
        return await self._behind.begin(call, lease_s=lease_s, again=again)

    async def answer(self, *_: object) -> None:
        raise CallsUnavailable("away")

    async def leave(self, *_: object) -> None:
        raise CallsUnavailable("away")

    async def undo(self, *_: object) -> None:
        raise CallsUnavailable("away")


@pytest.fixture
def register() -> CallRegister:
    return calls_in(None)


@pytest.fixture
def paid(register: CallRegister) -> PaidCalls:
    return PaidCalls(register)


async def test_a_second_attempt_gets_the_answer_of_the_first(paid: PaidCalls) -> None:
    provider = saying(b"said")

    with set_current_lookup("brand-a.1"):
        first = await paid.once("acme", {"q": "Ada", "n": 1}, provider)
        second = await paid.once("acme", {"n": 1, "q": "Ada"}, provider)

    assert first == second == b"said"
    assert len(provider.keys) == 1


async def test_outside_a_lookup_nothing_is_remembered(paid: PaidCalls) -> None:
    provider = saying(b"said")

    await paid.once("acme", "Ada", provider)
    await paid.once("acme", "Ada", provider)
    await EVERY_TIME.once("acme", "Ada", provider)

    assert len(set(provider.keys)) == 3


async def test_a_call_that_is_under_way_is_waited_for(
    paid: PaidCalls,
) -> None:
    provider = Held()

    with set_current_lookup("brand-a.1"):
        asking = [asyncio.create_task(paid.once("acme", "Ada", provider)) for _ in range(5)]
    await provider.asked.wait()
    provider.let.set()

    assert await asyncio.gather(*asking) == [b"said"] * 5
    assert provider.times == 1


async def test_a_call_under_way_elsewhere_that_is_never_answered_is_waited_for_and_lost(
    register: CallRegister,
) -> None:
    call = PaidCall("brand-a.1", "acme", b'"Ada"')
    assert isinstance(await register.begin(call, lease_s=0.2, again=False), CallLease)
    provider = saying(b"said")

    with set_current_lookup("brand-a.1"):
        with pytest.raises(Unanswered, match="acme was asked before"):
            await PaidCalls(register).once("acme", "Ada", provider)
        with pytest.raises(Unanswered):
            await PaidCalls(register).once("acme", "Ada", provider)
    assert provider.keys == []


async def test_a_provider_that_takes_a_key_is_asked_again_with_the_same_one(
    register: CallRegister,
) -> None:
    paid = PaidCalls(register)
    lost, provider = raising(ConnectionResetError()), saying(b"said")

    with set_current_lookup("brand-a.1"):
        with pytest.raises(ConnectionResetError):
            await paid.once("acme", "Ada", lost, takes_key=True)
        assert await paid.once("acme", "Ada", provider, takes_key=True) == b"said"
        assert await paid.once("acme", "Ada", provider, takes_key=True) == b"said"

    assert lost.keys == provider.keys
    assert len(provider.keys) == 1


CHARGED, SENT, UNSENT = {"made": 1}, {"made": 1, "not_charged": 1}, dict[str, int]()
#: What a call ends with, and what is counted of it; only one that may have been charged is not
#: repeated.
FAILURES: list[tuple[Exception, dict[str, int]]] = [
    (Unreachable("timeout"), CHARGED),
    (Unreachable("protocol"), CHARGED),
    (Unreachable("too-large"), CHARGED),
    (Unreachable("tls"), CHARGED),
    (ConnectionResetError(), CHARGED),
    (ValueError("a bug after the answer"), CHARGED),
    (NotCharged("429"), SENT),
    (NotSentProblem(ProblemKind.OVER_CAP, "the cap is reached"), UNSENT),
    (Unreachable("connect"), UNSENT),
    (Unreachable("dns"), UNSENT),
    (Unreachable("no-host"), UNSENT),
    (Forbidden("a private address"), UNSENT),
    (CallsUnavailable("the account is away"), UNSENT),  # reserved there before it is made
]


@pytest.mark.parametrize(("error", "counted"), FAILURES, ids=str)
async def test_only_a_call_that_may_have_been_charged_is_not_repeated(
    register: CallRegister, error: Exception, counted: dict[str, int]
) -> None:
    metrics, provider = Metrics(), saying(b"said")
    paid = PaidCalls(register, metrics=metrics)

    with set_current_lookup("brand-a.1"):
        with pytest.raises(type(error)):
            await paid.once("acme", "Ada", raising(error))
        found = {result: n for (_, result), n in metrics.paid_calls.read().items()}
        if counted == CHARGED:
            with pytest.raises(Unanswered):
                await paid.once("acme", "Ada", provider)
        else:
            assert await paid.once("acme", "Ada", provider) == b"said"

    assert found == counted
    assert len(provider.keys) == (counted != CHARGED)


async def test_a_provider_that_is_silent_is_cut_off_before_others_may_ask(
    register: CallRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.paid_calls.register.CALL_S", 0.02)
    paid = PaidCalls(register)
    provider = Held()

    with set_current_lookup("brand-a.1"):
        with pytest.raises(Unanswered, match="in time"):
            await paid.once("acme", "Ada", provider)
        with pytest.raises(Unanswered, match="before"):
            await paid.once("acme", "Ada", provider)

    assert provider.times == 1


async def test_a_call_that_is_cancelled_is_not_repeated(
    register: CallRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.paid_calls.register.LEASE_S", 0.05)
    paid = PaidCalls(register)
    provider = Held()

    with set_current_lookup("brand-a.1"):
        asking = asyncio.create_task(paid.once("acme", "Ada", provider))
        await provider.asked.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        with pytest.raises(Unanswered):
            await paid.once("acme", "Ada", provider)

    assert provider.times == 1


async def test_no_call_is_made_without_the_register() -> None:
    provider = saying(b"said")

    with set_current_lookup("brand-a.1"), pytest.raises(NotAsked):
        await PaidCalls(Away()).once("acme", "Ada", provider)

    assert provider.keys == []


async def test_an_answer_that_cannot_be_remembered_serves_once_and_is_not_asked_for_again(
    register: CallRegister, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = saying(b"said")

    with set_current_lookup("brand-a.1"):
        assert await PaidCalls(Away(register)).once("acme", "Ada", provider) == b"said"
        monkeypatch.setattr("cs.paid_calls.register.LEASE_S", 0.05)
        with pytest.raises(Unanswered):
            await PaidCalls(register).once("acme", "Ada", provider)

    call = PaidCall("brand-a.1", "acme", b'"Ada"')
    assert isinstance(await register.begin(call, lease_s=60, again=True), CallInFlight)
    assert len(provider.keys) == 1


# In a data folder: its plug-ins, its restarts.

PLUGIN = Path(__file__).parents[1] / "plugins" / "paid_source"
ACME = BrandFacts(name="Acme", domain="acme.example")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.delitem(sys.modules, "paid_people", raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def asking(url: str) -> Settings:
    return load(
        environment={
            "CS_PEOPLE_SOURCES": "paid-people",
            "CS_SOURCES__PAID_PEOPLE__URL": url,
        }
    )


async def one_life(folder: Path, settings: Settings, lookup: str) -> SourceStatus:
    """Start, ask the source once for *lookup*, stop; return how the source ended."""
    async with (
        open_paid_calls(Settings(data_dir=folder)) as paid,
        open_plugins(settings, paid=paid) as tools,
        open_folder(DataFolder(folder)),
    ):
        (source,) = tools.people_sources
        with set_current_lookup(lookup):
            return (await source.find(ACME, limit=10)).ended


@pytest.mark.usefixtures("installed")
async def test_a_restart_does_not_pay_again(folder: Path) -> None:
    async with serve(pages({"/people": b"nobody"})) as provider:
        settings = asking(provider.url)
        ended = [await one_life(folder, settings, f"brand-a.{n}") for n in (1, 1, 2)]

    assert ended == [SourceStatus.NO_RESULTS] * 3
    assert len(provider.asked) == 2, "one for each lookup"
    assert stat.S_IMODE((folder / "calls.db").stat().st_mode) == 0o600


async def test_a_service_without_paid_plug_ins_keeps_no_register(folder: Path) -> None:
    async with open_paid_calls(Settings(data_dir=folder)), open_folder(DataFolder(folder)):
        pass

    assert "calls.db" not in [file.name for file in folder.iterdir()]  # noqa: ASYNC240
