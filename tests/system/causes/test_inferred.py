"""What an earlier release stored has no causes: they are inferred, and said to be."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cs.assembly.folder_stores import open_folder
from cs.domain.brand.events import ContactsErased, LookupEvent, MailboxVerified, StageIssued
from cs.domain.causation import OperatorCause, StartCause, TimerCause
from cs.domain.key import KeyIssued, SearchSettled
from cs.domain.mail_domain import DomainLearned
from cs.eventlog.port import EventLog
from cs.runtime.data_folder import DataFolder
from system.causes.chains import check_against_the_events, explained
from system.upgrades.test_stored_before import unpacked


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[EventLog]:
    data = tmp_path / "data"
    unpacked("folder", data)
    async with open_folder(DataFolder(data)) as stores:
        yield stores.log


async def test_events_of_an_earlier_release_are_linked_by_what_they_say(log: EventLog) -> None:
    events = await log.tail(0, 10_000)
    assert {each.caused_by for each in events} == {None}

    why = await explained(log)

    check_against_the_events(events, why)
    assert all(each.event.inferred for each in why.values())
    of = {each.position: type(each.event) for each in events}
    for position, explanation in why.items():
        asked = explanation.event
        if of[position] is KeyIssued:
            assert asked.caused_by == OperatorCause(command="keys create", who=asked.said.by)
        if of[position] is MailboxVerified:
            assert of[asked.follows[0]] is StageIssued
        if of[position] is DomainLearned:
            assert asked.follows, "the mail domain that was checked"
        if of[position] is StageIssued and (asked.said.attempt or 0) > 1:
            assert isinstance(asked.caused_by, TimerCause | StartCause)
        if of[position] is ContactsErased:
            assert (asked.caused_by, asked.follows) == (None, ()), "nothing shows it"
        elif issubclass(of[position], SearchSettled | LookupEvent):
            assert asked.follows, (position, asked.topic)
