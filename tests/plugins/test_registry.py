"""Which plug-ins are made, of those that are installed, and what is said of a broken one."""

import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

import msgspec
import pytest

from cs.plugins.contracts.stand_in import StandIn, verifier_context
from cs.plugins.contracts.stand_in import source_context as context_of_source
from cs.plugins.entry_points import BrokenPlugin, Group, UnknownPlugin
from cs.plugins.plugin_settings import SettingValues
from cs.plugins.registry import load_plugins
from cs.plugins.sources import BrandAnswer, BrandFacts, Query, SourceContext, SourceStatus
from cs.plugins.verifiers import Verifier, VerifierContext

NOWHERE = StandIn(lambda _: {})


class Shop:
    """A brand source as somebody else might write one."""

    name = "shop"

    def __init__(self, context: SourceContext) -> None:
        self._context = context

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        there = "shop_url" in self._context.settings
        ended = SourceStatus.USED if there else SourceStatus.NOT_CONFIGURED
        return BrandAnswer(source=self.name, ended=ended)


class Named:
    """A verifier as far as the registry looks at it."""

    def __init__(self, name: str, cost: int) -> None:
        self.name, self.cost = name, cost

    def open(self, *_: Any) -> None: ...


def cheap(_: VerifierContext) -> Named:
    return Named("cheap", 1)


def alike(_: VerifierContext) -> Named:
    return Named("alike", 1)


def dear(_: VerifierContext) -> Named:
    return Named("dear", 90)


def unset(_: object) -> None:
    return None


def broken(_: object) -> Shop:
    raise ValueError("no key")


def not_a_plugin(_: object) -> str:
    return "shop"


def nameless(_: object) -> Shop:
    class Nameless(Shop):
        @property
        def name(self) -> str:  # type: ignore[override]
            raise RuntimeError("it forgot")

    return Nameless(source_context())


def priceless(_: object) -> Named:
    named = Named("priceless", 1)
    del named.cost
    return named


def talkative(context: SourceContext) -> object:
    class Talkative:
        def __repr__(self) -> str:
            return f"Talkative({context.settings['api_key']})"

    return Talkative()


def leaking(context: SourceContext) -> Shop:
    raise ValueError(f"401 for {context.settings['api_key']}")


def source_context(name: str = "", **settings: str) -> SourceContext:
    """Return the context of the source *name*; only a shop's has settings unless given."""
    if name == "shop":
        settings = {"shop_url": "x"}
    return context_of_source(NOWHERE, **settings)


def for_verifier(_: str) -> VerifierContext:
    return verifier_context(NOWHERE)


def point(name: str, value: str, group: Group = Group.BRAND_SOURCES) -> EntryPoint:
    return EntryPoint(name, value if ":" in value else f"{__name__}:{value}", group)


OURS = [
    point("wikidata", "cs.sources.brand.wikidata:from_context"),
    point("website", "cs.sources.brand.website:from_context"),
]


def found_verifiers(*names: str, enabled: Sequence[str] | None = None) -> list[str]:
    points = [point(name, name, Group.VERIFIERS) for name in names]
    made: tuple[Verifier, ...] = load_plugins(
        Group.VERIFIERS, for_verifier, enabled=enabled, installed=points
    )
    return [verifier.name for verifier in made]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setitem(sys.modules, __name__, request.module)


async def test_every_source_is_made_from_its_context_in_the_order_of_names() -> None:
    sources = load_plugins(
        Group.BRAND_SOURCES, source_context, installed=[*OURS, point("shop", "Shop")]
    )

    assert [source.name for source in sources] == ["shop", "website", "wikidata"]
    assert [type(source).__name__ for source in sources] == [
        "Shop",
        "Website",
        "WikidataSource",
    ]
    assert (await sources[0].find(Query(brand="Acme"), None)).ended is SourceStatus.USED


def test_sources_that_are_named_come_in_that_order_and_once() -> None:
    enabled = ["wikidata", "website", "wikidata"]

    sources = load_plugins(Group.BRAND_SOURCES, source_context, enabled=enabled, installed=OURS)

    assert [source.name for source in sources] == ["wikidata", "website"]


def test_the_cheapest_verifier_comes_first_then_the_name() -> None:
    assert found_verifiers("dear", "cheap", "alike") == ["alike", "cheap", "dear"]


def test_a_verifier_that_is_not_configured_is_left_out() -> None:
    assert found_verifiers("unset", "cheap") == ["cheap"]


def test_only_those_in_use_are_loaded() -> None:
    assert found_verifiers("cheap", "broken", enabled=["cheap"]) == ["cheap"]
    points = [*OURS, point("bad", "no.such.module:make")]

    (source,) = load_plugins(
        Group.BRAND_SOURCES, source_context, installed=points, enabled=["wikidata"]
    )

    assert source.name == "wikidata"
    with pytest.raises(BrokenPlugin, match="ModuleNotFoundError"):
        load_plugins(Group.BRAND_SOURCES, source_context, installed=points, enabled=["bad"])


def test_an_unknown_name_is_reported_with_those_that_there_are() -> None:
    with pytest.raises(
        UnknownPlugin, match=r"^verifiers: 'smpt' is not installed; there are ch"
    ):
        found_verifiers("dear", "cheap", enabled=["smpt"])
    with pytest.raises(UnknownPlugin, match=r"^people_sources: 'x' is .*; there are nothing$"):
        load_plugins(Group.PEOPLE_SOURCES, source_context, enabled=["x"], installed=[])


def made(*points: EntryPoint, group: Group = Group.BRAND_SOURCES) -> object:
    """Load the plug-ins of *points*, all of one group."""
    if group is Group.VERIFIERS:
        return load_plugins(Group.VERIFIERS, for_verifier, installed=points)
    return load_plugins(Group.BRAND_SOURCES, source_context, installed=[*OURS, *points])


SOURCE, VERIFIER = ("brand source", Group.BRAND_SOURCES), ("verifier", Group.VERIFIERS)


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        (SOURCE, "broken", "ValueError: no key"),
        (SOURCE, "missing", "AttributeError"),
        (SOURCE, "no.such.module:make", "ModuleNotFoundError"),
        (SOURCE, "not_a_plugin", "it made a str, which is no brand source"),
        (SOURCE, "unset", "it made a NoneType, which is no brand source"),
        (SOURCE, "Shop", "it calls itself 'shop'"),
        (SOURCE, "nameless", "RuntimeError: it forgot"),
        (VERIFIER, "not_a_plugin", "it made a str, which is no verifier"),
        (VERIFIER, "priceless", "AttributeError: 'Named' object has no attribute 'cost'"),
    ],
)
def test_a_broken_plugin_is_named_with_the_reason(
    kind: tuple[str, Group], value: str, why: str
) -> None:
    name, group = kind
    with pytest.raises(BrokenPlugin, match=why) as caught:
        made(point("bad" if value != "priceless" else value, value, group), group=group)

    assert str(caught.value).startswith(f"{name} '{caught.value.name}' (")


def test_two_plugins_of_one_name_are_one_too_many() -> None:
    points = [point("shop", "Shop"), point("shop", "acme.shop:make")]

    with pytest.raises(BrokenPlugin, match=r"'shop' .* acme\.shop:make has that name, too"):
        load_plugins(Group.BRAND_SOURCES, source_context, installed=points)
    assert load_plugins(
        Group.BRAND_SOURCES, source_context, installed=[*points, *OURS], enabled=["website"]
    )


def test_why_a_plugin_is_broken_is_reported_without_its_secrets() -> None:
    settings = SettingValues({"api_key": "s3cret"}, frozenset({"api_key"}))
    made = msgspec.structs.replace(source_context(), settings=settings)

    with pytest.raises(BrokenPlugin, match=r"ValueError: 401 for \*{8}$"):
        load_plugins(
            Group.BRAND_SOURCES, lambda _: made, installed=[point("leaking", "leaking")]
        )
    with pytest.raises(BrokenPlugin, match=r"made a Talkative, which is no brand source$"):
        load_plugins(
            Group.BRAND_SOURCES, lambda _: made, installed=[point("talkative", "talkative")]
        )
