"""Who asked to be forgotten is in no answer, no state and no record, old or new."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

import pytest
from msgspec.structs import replace

from cs.domain.brand.events import PeopleFound
from cs.domain.contact import Sighting
from cs.domain.person import PersonErased, PersonSuppressed
from harness.memory_keys import MemoryKeyStore
from harness.outside import ADA, BEN, Mailboxes
from operations.erasure.service import (
    ADA_MAILBOX,
    ADA_PROFILE,
    BEN_MAILBOX,
    Erasable,
    Waits,
    at_zenith,
    erasable,
    outside,
)

ONLY_ADA = frozenset({ADA_MAILBOX})
OF_ADA = ("Ada Kern", "ada.kern", "ada-kern", "Head of Influencer")


async def told_of_ada(service: Erasable) -> list[str]:
    stored = await service.stored()
    return [told for told in OF_ADA if told in stored]


async def erase_ada(service: Erasable, by: str) -> None:
    if by == "mailbox":
        await service.erasure.erase_mailbox(ADA_MAILBOX.upper())
    else:
        await service.erasure.erase_profile(ADA_PROFILE)


@pytest.mark.parametrize("by", ["mailbox", "profile"])
async def test_earlier_searches_and_reused_answers_lack_them_and_are_charged_as_before(
    by: str,
) -> None:
    async with erasable(outside()) as service:
        key = await service.new_key()
        before = (await service.search(key, brand="Acme")).json()
        assert service.names(before) == ["Ada Kern", "Ben Ode"]

        await erase_ada(service, by)

        after = await service.read(key, before["id"])
        assert after == {**before, "contacts": before["contacts"][1:]}  # Contract C9
        assert await told_of_ada(service) == []
        assert "Ben Ode" in await service.stored()
        found = await service.running.reading.search(before["id"], key.id)
        assert found is not None
        assert found.body is not None
        assert await service.rebuilt(key.id, before["id"]) == found.body, "views made anew"
        said = await service.recorded(PersonSuppressed, PersonErased)
        kinds = [type(each.event).__name__ for each in said]
        assert kinds == ["PersonSuppressed", "PersonErased"]
        head = await service.log.head()

        await erase_ada(service, by)
        assert await service.log.head() == head, "a second time changes nothing"

        again = (await service.search(key, brand="Acme")).json()
        assert (again["cached"], again["charged"], again["usage"]["used"]) == (True, True, 2)
        assert service.names(again) == ["Ben Ode"]

        await service.erasure.erase_mailbox(BEN_MAILBOX)
        assert (await service.read(key, before["id"]))["contacts"] == []
        live = [name for name, data_key in service.keys._keys.items() if data_key is not None]
        assert len([name for name in live if name.startswith("result:")]) == 1


async def test_an_answer_without_a_verified_mailbox_is_no_hit() -> None:
    """Contract C11; and the live search that follows does not find them again."""
    async with erasable(outside(mailboxes=Mailboxes(ONLY_ADA))) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")

        await service.erasure.erase_mailbox(ADA_MAILBOX)
        (_, row), *_ = await service.running.reading.brands()
        again = (await service.search(key, brand="Acme")).json()

        assert (row.verified, row.reused_until) == (0, None)
        assert (again["cached"], again["reason"]) == (False, "no_emails")
        assert service.names(again) == ["Ben Ode"]
        assert again["usage"]["used"] == 1


async def test_one_found_with_a_profile_here_and_a_mailbox_there_is_erased_in_both() -> None:
    tools = outside(zenith=(at_zenith(ADA), at_zenith(BEN)))
    async with erasable(tools) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        zenith = (await service.search(key, brand="Zenith")).json()
        assert [c["email"] for c in zenith["contacts"]] == [None, None]

        done = await service.erasure.erase_mailbox(ADA_MAILBOX)

        assert (done.lookups, done.new) == (2, True)
        for search in (acme, zenith):
            assert service.names(await service.read(key, search["id"])) == ["Ben Ode"]
        assert await told_of_ada(service) == []


async def test_one_seen_without_a_profile_is_erased_by_name_and_company() -> None:
    unlinked = at_zenith(ADA, linkedin_url=None, company="Acme")
    async with erasable(outside(zenith=(unlinked,))) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        await service.search(key, brand="Zenith")

        assert (await service.erasure.erase_profile(ADA_PROFILE)).lookups == 2
        assert await told_of_ada(service) == []


async def test_a_namesake_with_a_profile_of_their_own_stays() -> None:
    other = replace(ADA, linkedin_url="https://www.linkedin.com/in/another-ada-kern")
    async with erasable(outside((ADA, BEN), (at_zenith(other, company="Acme"),))) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        zenith = (await service.search(key, brand="Zenith")).json()

        assert (await service.erasure.erase_profile(ADA_PROFILE)).lookups == 1

        assert service.names(await service.read(key, zenith["id"])) == ["Ada Kern"]


async def test_a_namesake_at_one_mailbox_loses_the_record_that_names_it_and_no_more() -> None:
    """Both were verified at it; the record of the other holds the erased one's address."""
    twin = replace(ADA, linkedin_url="https://www.linkedin.com/in/another-ada-kern")
    async with erasable(outside((ADA, twin), (at_zenith(twin),))) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        zenith = (await service.search(key, brand="Zenith")).json()

        assert (await service.erasure.erase_profile(ADA_PROFILE)).lookups == 1

        assert ADA_MAILBOX not in await service.stored()
        assert service.names(await service.read(key, zenith["id"])) == ["Ada Kern"]


# Who is not there yet.


async def test_one_never_found_is_kept_from_being_found_by_profile() -> None:
    async with erasable(outside()) as service:
        done = await service.erasure.erase_profile(ADA_PROFILE)
        key = await service.new_key()
        answer = (await service.search(key, brand="Acme")).json()

        assert (done.lookups, done.new) == (0, True)
        assert service.names(answer) == ["Ben Ode"]
        found = await service.events(PeopleFound)
        assert [p.full_name for event in found for p in event.people] == ["Ben Ode"]


@pytest.mark.parametrize(
    "given",
    [
        "https://www.linkedin.com/in/ada-kern/",
        "https://www.linkedin.com/in/Ada-Kern?trk=people",
        "https://uk.linkedin.com/in/ada-kern",
    ],
)
async def test_a_profile_is_one_however_a_source_writes_its_address(given: str) -> None:
    ada = replace(ADA, linkedin_url=given)
    async with erasable(outside(acme=(ada, BEN), zenith=(at_zenith(ada), at_zenith(BEN)))) as (
        service
    ):
        key = await service.new_key()
        search = (await service.search(key, brand="Acme")).json()["id"]

        await service.erasure.erase_profile(ADA_PROFILE)
        later = (await service.search(key, brand="Zenith")).json()

        assert service.names(await service.read(key, search)) == ["Ben Ode"]
        assert service.names(later) == ["Ben Ode"]
        assert await told_of_ada(service) == []


async def test_one_known_by_mailbox_alone_is_erased_the_moment_it_is_verified() -> None:
    tools = outside(zenith=(at_zenith(ADA), at_zenith(BEN)))
    async with erasable(tools) as service:
        key = await service.new_key()
        zenith = (await service.search(key, brand="Zenith")).json()
        await service.erasure.erase_mailbox(ADA_MAILBOX)
        assert service.names(await service.read(key, zenith["id"])) == ["Ada Kern", "Ben Ode"]

        answer = (await service.search(key, brand="Acme")).json()

        assert service.names(answer) == ["Ben Ode"]
        assert await told_of_ada(service) == []
        assert service.names(await service.read(key, zenith["id"])) == ["Ben Ode"]


@pytest.mark.parametrize("others", [(BEN,), ()])
async def test_one_erased_while_a_search_runs_is_not_in_its_answer(
    others: tuple[Sighting, ...],
) -> None:
    mailboxes = Waits(frozenset({ADA_MAILBOX, BEN_MAILBOX}))
    async with erasable(outside((ADA, *others), mailboxes=mailboxes)) as service:
        key = await service.new_key()
        searching = asyncio.create_task(service.search(key, brand="Acme"))
        await mailboxes.asked.wait()

        done = await service.erasure.erase_profile(ADA_PROFILE)
        mailboxes.told.set()
        answer = (await searching).json()

        assert done.lookups == 1
        assert service.names(answer) == (["Ben Ode"] if others else [])
        assert answer["status"] == ("done" if others else "failed")
        assert (answer["charged"], answer["usage"]["used"]) == (bool(others), len(others))
        assert await told_of_ada(service) == []


# Twice, half-way, from zero.


class Stops(MemoryKeyStore):
    """Fails once, at its call number *at* of those that change it."""

    def __init__(self) -> None:
        super().__init__()
        self.at = -1

    def _count(self) -> None:
        self.at -= 1
        if self.at == 0:
            raise OSError(28, "no space left on device")

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        self._count()
        await super().suppress(fingerprints)
        self._count()

    async def destroy(self, names: Iterable[str]) -> None:
        self._count()
        await super().destroy(names)
        self._count()


@pytest.mark.parametrize("step", range(1, 7))
async def test_one_that_was_interrupted_is_finished_by_doing_it_again(step: int) -> None:
    tools = outside(zenith=(at_zenith(ADA), at_zenith(BEN)))
    keys = Stops()
    async with erasable(tools, keys) as service:
        key = await service.new_key()
        acme = (await service.search(key, brand="Acme")).json()
        zenith = (await service.search(key, brand="Zenith")).json()
        keys.at = step
        with pytest.raises(OSError, match="no space"):
            await service.erasure.erase_mailbox(ADA_MAILBOX)

        keys.at = -1
        assert (await service.erasure.erase_mailbox(ADA_MAILBOX)).lookups == 2

        for search in (acme, zenith):
            record = await service.read(key, search["id"])
            assert record == {
                **search,
                "contacts": search["contacts"][1:],
                "usage": record["usage"],
            }
        assert await told_of_ada(service) == []
        live = {name for name, data_key in keys._keys.items() if data_key is not None}
        assert len([name for name in live if name.startswith("result:")]) == 2


# Who reads meanwhile.


class Watched(MemoryKeyStore):
    """Notes what the views rest on whenever the key of an answer is destroyed."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: Callable[[], Awaitable[set[str | None]]] | None = None
        self.needed: set[str | None] = set()

    async def destroy(self, names: Iterable[str]) -> None:
        gone = set(names)
        if self.answers is not None and any(name.startswith("result:") for name in gone):
            self.needed |= gone & await self.answers()
        await super().destroy(gone)


async def test_no_answer_rests_on_a_key_when_it_is_destroyed() -> None:
    keys = Watched()
    async with erasable(outside(), keys) as service:
        keys.answers = service.result_keys
        key = await service.new_key()
        await service.search(key, brand="Acme")

        await service.erasure.erase_profile(ADA_PROFILE)

        assert keys.needed == set()


class Late(MemoryKeyStore):
    """Does something just before the key of an answer is looked up."""

    before: Callable[[], Awaitable[object]] | None = None

    def held(self, name: str) -> bytes | None:  # noqa: ARG002
        return None  # it was never asked for here

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(names)
        before = self.before
        if before is not None and any(name.startswith("result:") for name in wanted):
            self.before = None
            await before()
        return await super().find(wanted)


async def test_an_erasure_between_reading_an_answer_and_its_key_is_noticed() -> None:
    keys = Late()
    async with erasable(outside(), keys) as service:
        key = await service.new_key()
        search = (await service.search(key, brand="Acme")).json()["id"]
        keys.before = lambda: service.erasure.erase_profile(ADA_PROFILE)

        assert service.names(await service.read(key, search)) == ["Ben Ode"]


async def person_prints(service: Erasable, person: str) -> frozenset[str]:
    said = [e.event for e in await service.log.read(f"person-{person}")]
    return frozenset(
        p for event in said if isinstance(event, PersonSuppressed) for p in event.prints
    )


async def test_lifting_one_wish_leaves_what_another_is_known_by_refused() -> None:
    async with erasable(outside()) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        await service.erasure.erase_profile(ADA_PROFILE)
        await service.erasure.erase_mailbox("ada.kern@acme.test")
        first, second = await service.erasure.suppressed()
        assert second.id in (await person_prints(service, first.id)), "both know the address"

        await service.erasure.lift([first.id])
        assert await service.keys.suppressed([first.id, second.id]) == {second.id}
        assert [each.id for each in await service.erasure.suppressed()] == [second.id]
        assert await service.erasure.reapply() == 1, "who was lifted is left alone"

        assert await service.erasure.lift([second.id]) == 1
        assert await service.keys.suppressed([first.id, second.id]) == set()
        assert await service.erasure.lift([second.id]) == 0, "doing it again is quiet"

        await service.erasure.erase(second.id)
        assert [each.id for each in await service.erasure.suppressed()] == [second.id]
        assert await service.keys.suppressed([second.id]) == {second.id}
