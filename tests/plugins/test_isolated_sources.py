"""Whatever a source raises, it alone has failed, and its secrets are not shown."""

import asyncio
import gc
import json
import logging
from contextlib import suppress
from typing import Any

import pytest
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from cs.domain.cause import without_people
from cs.domain.contact import BrandFacts, Query, Sighting
from cs.metrics.metrics import Metrics
from cs.plugins import containment
from cs.plugins.isolated import IsolatedBrandSource, IsolatedPeopleSource
from cs.plugins.plugin_settings import SettingValues
from cs.plugins.sources import PeopleAnswer, SourceStatus

SECRET = "s3cr'et/+"
GIVEN = SettingValues({"token": SECRET, "url": "http://x"}, frozenset({"token"}))
QUERY, ACME = Query("Acme"), BrandFacts(name="Acme", domain="acme.test")


class Odd(BaseException):
    """No `Exception`."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


RAISED = [
    ValueError("no key"),
    RecursionError("maximum recursion depth exceeded"),
    MemoryError(),
    Odd("odd"),
    SystemExit(3),
    KeyboardInterrupt(),
    StopIteration(),
    asyncio.CancelledError("by itself"),
    asyncio.InvalidStateError(),
    BaseExceptionGroup("two", [Odd(), ValueError()]),
    Mute(),
    UnicodeEncodeError("idna", "x", 0, 1, "no"),
]


class Raising:
    name = "raising"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def find(self, *_: Any, **__: Any) -> Any:
        raise self._error


class Giving:
    name = "giving"

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def find(self, *_: Any, **__: Any) -> Any:
        return self._answer


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
async def test_what_it_raises_is_a_failure_with_its_cause(error: BaseException) -> None:
    source = Raising(error)
    with capture_logs() as logs:
        brand = await IsolatedBrandSource(source, GIVEN).find(QUERY, None)
        people = await IsolatedPeopleSource(source, GIVEN).find(ACME, limit=3)

    for answer in (brand, people):
        assert (answer.source, answer.ended) == ("raising", SourceStatus.FAILED)
        assert answer.why is not None
        assert answer.why.startswith((type(error).__name__, "RuntimeError"))  # StopIteration
    assert [each["event"] for each in logs] == ["source_failed"] * 2
    assert logs[0]["why"] == without_people(brand.why or "")
    if not isinstance(error, StopIteration):  # which a coroutine replaces
        assert " find" in logs[0]["at"], "where it was raised"


@pytest.mark.parametrize(
    "text",
    [SECRET, repr(SECRET), "http://x?t=s3cr%27et%2F%2B", f"b'Bearer {SECRET}'"],
)
async def test_no_secret_and_no_mailbox_is_reported(text: str) -> None:
    source = Raising(
        ValueError(f"{text} for jane.doe@acme.test and jane%40acme.test\n\x1b[31m")
    )
    with capture_logs() as logs:
        answer = await IsolatedBrandSource(source, GIVEN).find(QUERY, None)

    told = f"{answer.why} {logs}"
    for kept_back in ("s3cr", "jane", "\x1b", "\n"):
        assert kept_back not in told
    assert "********" in told


PEOPLE = [
    KeyError("Jane Doe"),
    ValueError(
        """invalid literal for int() with base 10: 'Jane "JD" O\\'Doe, jane.doe@acme.test'"""
    ),
    LookupError("nobody is called “Jane Doe” <jane.doe@acme.test>"),
    LookupError("nobody is called «Jane Doe» or `Doe, Jane`"),
    OSError("https://people.test/in/jane-doe?mail=jane.doe%40acme.test answers 404"),
    ValueError("x" * 250 + " in 'Jane Doe, " + "y" * 100),
    BaseExceptionGroup("of 'Jane Doe'", [KeyError("Jane Doe")]),
]


@pytest.mark.parametrize("error", PEOPLE, ids=repr)
async def test_no_log_line_has_a_person_that_its_exception_quotes(
    error: BaseException,
) -> None:
    with capture_logs([format_exc_info]) as logs:
        await IsolatedBrandSource(Raising(error), GIVEN).find(QUERY, None)
        await IsolatedPeopleSource(Raising(error), GIVEN).find(ACME, limit=3)
        said = PeopleAnswer(source="giving", ended=SourceStatus.RATE_LIMITED, why=str(error))
        await IsolatedPeopleSource(Giving(said), GIVEN).find(ACME, limit=3)

    told = json.dumps(logs)
    assert [each["event"] for each in logs] == ["source_failed"] * 3
    for person in ("jane", "doe"):
        assert person not in told.lower()
    assert logs[0]["why"].startswith(type(error).__name__)
    assert "test_isolated_sources.py:" in logs[0]["at"], "where to look instead"


async def test_what_is_missing_is_reported_without_secrets_and_is_no_failure() -> None:
    said = PeopleAnswer(
        source="giving", ended=SourceStatus.NOT_CONFIGURED, why=f"{SECRET} is old"
    )
    with capture_logs() as logs:
        answer = await IsolatedPeopleSource(Giving(said), GIVEN).find(ACME, limit=3)

    assert (answer.ended, answer.why) == (SourceStatus.NOT_CONFIGURED, "******** is old")
    assert logs == []


async def test_a_source_that_was_not_asked_for_its_cap_is_not_away() -> None:
    metrics, shown = Metrics(), list[float]()
    for ended in (SourceStatus.USED, SourceStatus.OVER_BUDGET, SourceStatus.FAILED):
        source = Giving(PeopleAnswer(source="giving", ended=ended))
        await IsolatedPeopleSource(source, GIVEN, metrics).find(ACME, limit=3)
        shown += metrics.source_answering.read().values()

    assert shown == [1, 1, 0]


def people(**fields: Any) -> PeopleAnswer:
    return PeopleAnswer(**{"source": "giving", "ended": SourceStatus.USED, **fields})


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "people",
        people(source=None),
        people(ended="odd"),
        people(ended=SourceStatus.FAILED, why=ValueError("x")),
        people(ended=SourceStatus.FAILED, retry_in_s="5"),
        people(people=None),
        people(people=[{"full_name": "Jo Lane"}]),
        people(people=[Sighting(full_name=None, source="x")]),  # type: ignore[arg-type]
    ],
)
async def test_what_is_no_answer_is_a_failure(answer: object) -> None:
    found = await IsolatedPeopleSource(Giving(answer), GIVEN).find(ACME, limit=3)

    assert found.ended is SourceStatus.FAILED


async def test_a_cancelled_caller_is_not_kept_waiting() -> None:
    class Waits:
        name = "waits"

        async def find(self, *_: Any, **__: Any) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await IsolatedBrandSource(Waits()).find(QUERY, None)


class Hanging:
    """A source that never answers, and may ignore that it is cancelled."""

    name, timeout_s = "hanging", 0.05

    def __init__(self, *, swallows: bool = False) -> None:
        self._swallows = swallows

    async def find(self, *_: Any, **__: Any) -> Any:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not self._swallows:
                    raise


@pytest.mark.parametrize("swallows", [False, True])
async def test_one_that_never_answers_has_failed_by_itself(
    swallows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "GRACE_S", 0.05)
    with capture_logs() as logs:
        async with asyncio.timeout(5):
            answer = await IsolatedPeopleSource(Hanging(swallows=swallows)).find(ACME, limit=3)

    assert answer.ended is SourceStatus.FAILED
    assert answer.why == "no answer within 0.05 s"
    assert [(each["event"], each.get("source")) for each in logs][-1] == (
        "source_failed",
        "hanging",
    )
    assert ("plugin_left_behind" in {each["event"] for each in logs}) is swallows


async def test_what_one_left_behind_raises_later_is_not_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over, raising = asyncio.Event(), asyncio.Event()

    class Late(Hanging):
        async def find(self, *_: Any, **__: Any) -> Any:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await over.wait()
            raising.set()
            raise ValueError(SECRET)

    monkeypatch.setattr(containment, "GRACE_S", 0.01)
    reported: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    await IsolatedPeopleSource(Late(), GIVEN).find(ACME, limit=3)
    over.set()
    await raising.wait()
    await asyncio.sleep(0)
    gc.collect()

    assert reported == []


async def test_it_ends_before_the_attempt_of_its_stage_does() -> None:
    class Patient(Hanging):
        timeout_s = 50

    loop = asyncio.get_running_loop()
    token = containment.ATTEMPT_ENDS_AT.set(loop.time() + 2.05)
    try:
        async with asyncio.timeout(5):
            answer = await IsolatedBrandSource(Patient()).find(QUERY, None)
    finally:
        containment.ATTEMPT_ENDS_AT.reset(token)

    assert answer.ended is SourceStatus.FAILED


async def test_a_wrong_type_names_the_field_and_both_types_and_hides_the_value() -> None:
    person = Sighting(full_name=["Jane Doe"], source="x")  # type: ignore[arg-type]
    with capture_logs() as logs:
        answer = await IsolatedPeopleSource(Giving(people(people=(person,)))).find(
            ACME, limit=3
        )

    assert answer.why == "PeopleAnswer: people[0].full_name is array, not str"
    assert logs[0]["why"] == answer.why


async def test_what_it_prints_and_logs_is_a_log_line_with_its_name_without_secrets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Chatty(Giving):
        async def find(self, *_: Any, **__: Any) -> Any:
            print("asking with", SECRET)  # noqa: T201
            logging.getLogger("chatty").warning("token %s", SECRET)
            return self._answer

    with capture_logs() as logs, containment.captured_output():
        await IsolatedPeopleSource(Chatty(people()), GIVEN).find(ACME, limit=3)
        print("ours")  # noqa: T201

    said = [(each["event"], each["plugin"], each["text"]) for each in logs]
    assert said == [
        ("plugin_output", "giving", "asking with ********"),
        ("plugin_output", "giving", "token ********"),
    ]
    assert capsys.readouterr().out == "ours\n"
