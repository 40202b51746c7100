"""The page about topics says what is true, and what it shows is read by the service."""

import asyncio
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from bus.asyncapi.asyncapi_document import COMMITTED
from bus.kafka.kafka_cases import client_of
from cs.bus.topics import (
    EVENTS,
    PARTITIONS,
    STAGE_TOPICS,
    TOPICS,
)
from domain.golden_files import golden, golden_event
from pipeline.loop import Loop

PAGE = (Path(__file__).parents[2] / "docs" / "topics.md").read_text()
SHOWN = [json.loads(b) for b in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
DOCUMENT: dict[str, Any] = json.loads(COMMITTED.read_bytes())


def test_messages_that_are_shown_fit_the_description() -> None:
    found = set()
    for shown in SHOWN:
        if "finding" in shown:
            message = "outcome"
        else:
            message = f"{shown['stage']}-work" if "input" in shown else shown["topic"]
        payload = DOCUMENT["components"]["messages"][message]["payload"]
        schema = {**payload, "components": DOCUMENT["components"]}
        jsonschema.validate(shown, schema, jsonschema.Draft7Validator)
        found.add(message)

    assert found == {"ranking-work", "outcome", "brand.people-found.v1"}


def test_every_topic_has_a_row_with_how_long_it_is_kept() -> None:
    for plan in TOPICS:
        (row,) = re.findall(rf"^\| `{re.escape(plan.name)}` \|.*$", PAGE, re.MULTILINE)
        kept = "1 h" if plan.retention == timedelta(hours=1) else f"{plan.retention.days} days"
        assert row.endswith(f"| {kept} |")
        assert (kept == "1 h") == (plan.name != EVENTS), "people are in clear everywhere else"
        configs = plan.configs(3)
        assert configs["cleanup.policy"] == "delete"
        assert int(configs["segment.ms"]) <= int(configs["retention.ms"]) / 6
    assert f"with {PARTITIONS} partitions" in PAGE


def test_every_stage_has_a_row_with_its_input_and_findings() -> None:
    for stage in STAGE_TOPICS:
        (row,) = re.findall(rf"^\| `{stage}` \| .*$", PAGE, re.MULTILINE)
        (example,) = DOCUMENT["components"]["messages"][f"{stage}-work"]["examples"]
        assert f"`{example['payload']['input']['type']}`" in row
        for outcome in DOCUMENT["components"]["messages"]["outcome"]["examples"]:
            payload = outcome["payload"]
            kind = payload["finding"]["type"]
            if payload["stage"] == stage and kind not in {"alive", "failed"}:
                assert f"`{kind}`" in row


@pytest.mark.slow
async def test_the_reader_shown_reads_the_feed(kafka: str, topic_prefix: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    printed = asyncio.Queue[tuple[Any, ...]]()
    reader: dict[str, Any] = {"print": lambda *values: printed.put_nowait(values)}
    exec(compile(code, "settled_searches.py", "exec"), reader)
    client, loop = client_of(kafka, topic_prefix), Loop()
    await client.make_topics(EVENTS, partitions=2)
    names = ["key.issued.v1", "key.search-admitted.v1", "key.search-settled.v1"]
    await loop.append("key-a", *map(golden_event, names))

    async def keep(_: int) -> None:
        pass

    async with client.bus() as loop.bus:
        reading = reader["show"](kafka, topic_prefix + EVENTS, topic_prefix + "billing")
        async with loop.running(loop.feed(keep), reading):
            values = await asyncio.wait_for(printed.get(), 30)

    settled = golden("key.search-settled.v1").state
    assert values == ("key-a", 2, settled["charged"])
