from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

from cs.domain.contact import BrandFacts, Query
from cs.outside.port import Response
from cs.plugins.plugin_settings import Given
from cs.sources.brand.website import Website
from cs.sources.brand.wikidata import Wikidata
from cs.sources.people.searxng import Searxng
from cs.sources.port import BrandAnswer, Ended
from cs.sources.registry import BrokenPlugin, Context, brand_sources, people_sources


class Nowhere:
    """A network where everything is empty."""

    async def get(self, url: str, **_: Any) -> Response:
        return Response(status=200, headers={}, body=b"{}", url=url)


class Shop:
    """A brand source as somebody else might write one."""

    name = "shop"

    def __init__(self, context: Context) -> None:
        self._context = context

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        ended = Ended.USED if "shop_url" in self._context.settings else Ended.NOT_CONFIGURED
        return BrandAnswer(source=self.name, ended=ended)


def broken(_: Context) -> Shop:
    raise ValueError("no key")


def no_source(_: Context) -> str:
    return "shop"


def leaking(context: Context) -> Shop:
    raise ValueError(f"401 for {context.settings['api_key']}")


def context(name: str = "", **settings: str) -> Context:
    """Return the context of the source *name*; only a shop's has settings unless given."""
    if name == "shop":
        settings = {"shop_url": "x"}
    return Context(
        trusted=Nowhere(),
        guarded=Nowhere(),
        settings=settings,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )


def plugin(name: str, value: str, group: str = "cs.brand_sources") -> EntryPoint:
    return EntryPoint(name, value if ":" in value else f"{__name__}:{value}", group)


OURS = [
    plugin("wikidata", "cs.sources.brand.wikidata:from_context"),
    plugin("website", "cs.sources.brand.website:from_context"),
]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setitem(__import__("sys").modules, __name__, request.module)


async def test_every_plugin_is_made_from_the_context_in_the_order_of_names() -> None:
    sources = brand_sources(context, plugins=[*OURS, plugin("shop", "Shop")])

    assert [source.name for source in sources] == ["shop", "website", "wikidata"]
    assert [type(source) for source in sources] == [Shop, Website, Wikidata]
    assert (await sources[0].find(Query(brand="Acme"), None)).ended is Ended.USED


async def test_a_source_without_its_setting_is_there_and_says_so() -> None:
    plugins = [plugin("searxng", "cs.sources.people.searxng:from_context", "cs.people_sources")]

    (source,) = people_sources(context, plugins=plugins)
    answer = await source.find(BrandFacts(name="Acme"), limit=5)

    assert isinstance(source, Searxng)
    assert answer.ended is Ended.NOT_CONFIGURED


async def test_wikidata_is_on_by_default_and_an_empty_address_switches_it_off() -> None:
    (on,) = brand_sources(context, plugins=OURS[:1])
    (off,) = brand_sources(lambda _: context(url=""), plugins=OURS[:1])

    assert (await on.find(Query(brand="Acme"), None)).ended is Ended.NO_RESULTS
    assert (await off.find(Query(brand="Acme"), None)).ended is Ended.NOT_CONFIGURED


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("broken", "ValueError: no key"),
        ("missing", "AttributeError"),
        ("no.such.module:make", "ModuleNotFoundError"),
        ("no_source", "which is no source"),
    ],
)
def test_a_broken_plugin_is_named_with_the_reason(value: str, why: str) -> None:
    with pytest.raises(BrokenPlugin, match=why) as caught:
        brand_sources(context, plugins=[*OURS, plugin("bad", value)])

    assert "source 'bad' (cs.brand_sources" in str(caught.value)


def test_a_broken_plugin_that_is_not_in_use_stops_nothing() -> None:
    plugins = [*OURS, plugin("bad", "broken")]

    (source, *_) = brand_sources(context, plugins=plugins, enabled=["wikidata"])

    assert source.name
    with pytest.raises(BrokenPlugin, match="no key"):
        brand_sources(context, plugins=plugins, enabled=["bad"])


def test_two_sources_of_one_name_are_one_too_many() -> None:
    with pytest.raises(BrokenPlugin, match="there is a source 'shop' already"):
        brand_sources(context, plugins=[plugin("a", "Shop"), plugin("b", "Shop")])


def test_why_a_plugin_is_broken_is_told_without_its_secrets() -> None:
    given = Given({"api_key": "s3cret"}, frozenset({"api_key"}))
    made = msgspec.structs.replace(context(), settings=given)

    with pytest.raises(BrokenPlugin, match=r"ValueError: 401 for \*{8}$"):
        brand_sources(lambda _: made, plugins=[plugin("leaking", "leaking")])
