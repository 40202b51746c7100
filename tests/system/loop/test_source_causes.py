"""Why a source failed is in the log of events, without secrets and without people."""

from typing import Any, TypeVar

from cs.assembly.plugins import StagePlugins
from cs.domain.brand.events import ContactsDiscovered
from cs.domain.codec import AnyEvent, encode
from cs.plugins.isolated import IsolatedBrandSource, IsolatedPeopleSource
from cs.plugins.plugin_settings import SettingValues
from cs.plugins.sources import PeopleAnswer, SourceStatus
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, ADA, Directory, Mailboxes, Staff

SECRET = "s3cr'et/+"
GIVEN = SettingValues({"token": SECRET}, frozenset({"token"}))
E = TypeVar("E", bound=AnyEvent)


class Shop:
    """A plug-in that raises or answers what it is made with."""

    def __init__(self, name: str, does: object) -> None:
        self.name, self._does = name, does

    async def find(self, *_: Any, **__: Any) -> Any:
        if isinstance(self._does, BaseException):
            raise self._does
        return self._does


async def happened(
    kind: type[E], *, brands: list[Shop], people: list[Shop], known: bool = True
) -> E:
    """Search Acme with others beside those of `harness.outside`, or alone if not *known*."""
    tools = StagePlugins(
        [
            *([Directory({"acme": ACME})] if known else []),
            *(IsolatedBrandSource(shop, GIVEN) for shop in brands),
        ],
        [
            *([Staff((ADA,))] if known else []),
            *(IsolatedPeopleSource(shop, GIVEN) for shop in people),
        ],
        [Mailboxes(frozenset({"ada.kern@acme.test"}))],
    )
    log = MemoryEventLog(MemoryKeyStore())
    async with in_memory(tools, log=log) as service:
        await service.search(await service.new_key(), brand="Acme")
        tail = await log.tail(0, 10_000)
    (event,) = [r.event for r in tail if isinstance(r.event, kind)]
    return event


async def test_people_who_were_found_come_with_why_others_may_be_missing() -> None:
    limited = PeopleAnswer(
        source="web", ended=SourceStatus.RATE_LIMITED, why=f"429 for {SECRET}"
    )
    unset = PeopleAnswer(
        source="hr", ended=SourceStatus.NOT_CONFIGURED, why=f"{SECRET}: too old"
    )
    empty = PeopleAnswer(source="none", ended=SourceStatus.NO_RESULTS, why="nobody is listed")
    shops = [
        Shop("web", limited),
        Shop("hr", unset),
        Shop("none", empty),
        Shop("shop", KeyError("Jane Doe")),
        Shop("odd", "people"),
    ]

    event = await happened(ContactsDiscovered, brands=[], people=shops)

    assert event.causes == {
        "web": "429 for ********",
        "hr": "********: too old",
        "shop": "KeyError: […]",
        "odd": "it answered str, not PeopleAnswer",
    }
    assert b"Jane Doe" not in encode(event)
