"""What only the operator can mend is named, and is no passing trouble."""

from collections.abc import Mapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from cs.assembly.plugins import StagePlugins, build_stages, open_plugins, unusable_settings
from cs.domain.contact import Query
from cs.domain.stages.work import (
    DiscoveryInput,
    Failed,
    ResolutionInput,
    StageInput,
    StageName,
    Work,
)
from cs.plugins.sources import SourceStatus
from cs.plugins.stages import Stage
from cs.settings import load
from cs.sources.people.searxng import NO_JSON
from domain.acme_run import ACME
from outside.loopback_web import pages, serve
from pipeline.test_asking_stages import AT, Brands


def issued(input_: StageInput) -> Work:
    stage: StageName = (
        "brand-resolution" if isinstance(input_, ResolutionInput) else "contact-discovery"
    )
    return Work(lookup="brand-a.1", stage=stage, attempt=1, deadline_at=AT, input=input_)


async def discard(_: object) -> None:
    pass


def stage_named(name: str, tools: StagePlugins) -> Stage:
    (found,) = [stage for stage in build_stages(tools) if stage.name == name]
    return found


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, {"people_sources": "searxng: set searxng_url"}),
        ({"people_sources": ()}, {"people_sources": "none is in use"}),
        ({"searxng_url": "http://127.0.0.1:1", "brand_sources": ()}, {"brand_sources": "none"}),
        (
            {"searxng_url": "http://127.0.0.1:1", "verifiers": ()},
            {"verifiers": "none is in use"},
        ),
        ({"searxng_url": "http://127.0.0.1:1"}, {}),
        (
            {"people_sources": (), "brand_sources": (), "verifiers": ()},
            {"people_sources": "none", "brand_sources": "none", "verifiers": "none"},
        ),
    ],
)
async def test_settings_that_leave_nobody_to_ask_are_named_before_anything_is_asked(
    given: Mapping[str, Any], wrong: Mapping[str, str]
) -> None:
    async with open_plugins(load(environment={}, given=given)) as tools:
        found = unusable_settings(tools)

    assert found.keys() == wrong.keys()
    assert all(wrong[name] in why for name, why in found.items()), found


async def test_a_searxng_without_json_is_no_passing_trouble_and_mends_itself() -> None:
    work = issued(DiscoveryInput(ACME))
    async with serve(pages({"/search": (403, {}, b"")})) as web:
        settings = load(environment={"CS_SEARXNG_URL": web.url})
        async with open_plugins(settings) as tools:
            stage = stage_named("contact-discovery", tools)
            with capture_logs() as logs:
                first = await stage.handle(work, discard)
                again = await stage.handle(work, discard)
            reasons = dict(tools.misconfiguration.reasons)

    refused = Failed(why="sources-refuse", retryable=False, causes={"searxng": NO_JSON})
    assert first == again == refused
    assert reasons == {"sources.searxng": NO_JSON}
    assert not tools.misconfiguration.blocks, "what was found before can still be read"
    met = [line["name"] for line in logs if line["event"] == "misconfigured"]
    assert met == ["sources.searxng"], "once, not for each search"


@pytest.mark.parametrize("sources", [[], [Brands("wikidata", SourceStatus.NOT_CONFIGURED)]])
async def test_without_any_brand_source_no_brand_is_said_to_be_unknown(
    sources: list[Brands],
) -> None:
    tools = StagePlugins(sources, [], [])

    found = await stage_named("brand-resolution", tools).handle(
        issued(ResolutionInput(Query(brand="Acme"))), discard
    )

    assert found == Failed(why="no-brand-source-configured", retryable=False)
    assert "brand_sources" in tools.misconfiguration.reasons
