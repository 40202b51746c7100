"""What a search stores says which rules decided it."""

from cs.domain import rule_sets
from cs.domain.brand.events import BrandResolved, ContactsRanked, MailboxVerified
from cs.domain.contact import BrandMatch, SourceMatches
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, tools


async def test_every_decision_of_a_search_names_its_rules() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    async with in_memory(tools(), keys=keys, log=log) as service:
        await service.search(await service.new_key(), brand="Acme")

    events = [recorded.event for recorded in await log.tail(0)]
    [resolved] = (event for event in events if isinstance(event, BrandResolved))
    [ranked] = (event for event in events if isinstance(event, ContactsRanked))
    [verified] = (event for event in events if isinstance(event, MailboxVerified))
    assert resolved.rules == rule_sets.RESOLUTION
    assert resolved.matches == (SourceMatches("listed", (BrandMatch(facts=ACME, score=0.9),)),)
    assert ranked.rules == rule_sets.RANKING
    assert verified.checked.rules == rule_sets.VERIFICATION
    # A verifier of another make says nothing of its rules.
    assert {found.rules for found in verified.checked.evidence} == {None}


async def test_a_brand_that_nobody_named_was_chosen_from_nothing() -> None:
    keys = MemoryKeyStore()
    log = MemoryEventLog(keys)
    async with in_memory(tools(), keys=keys, log=log) as service:
        await service.search(await service.new_key(), brand="Nobody Knows")

    events = [recorded.event for recorded in await log.tail(0)]
    [resolved] = (event for event in events if isinstance(event, BrandResolved))
    assert (resolved.status, resolved.matches) == ("no_match", ())
