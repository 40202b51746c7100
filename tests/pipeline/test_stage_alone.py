"""A stage needs nothing of the service but its message: shown by running it alone."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import cs
from pipeline import one_stage

pytestmark = pytest.mark.slow

SCRIPT = Path(one_stage.__file__)
PEOPLE = {"full_name": "Ada Kern", "first_name": "Ada", "last_name": "Kern", "person": "p1"}
BRAND = {"name": "Acme", "domain": "acme.example", "mail_domains": ["acme.example"]}
#: What a stage must never have to do with.
PRIVATE = ("cs.eventlog", "cs.keystore", "cs.projections", "cs.api", "cs.assembly.one_process")


async def run_alone(stage: str, **message: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Run *stage* in a process of its own; return what it answered and what it imported."""
    source = str(Path(str(cs.__file__)).parents[1])
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SCRIPT),
        stage,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": source},
    )
    work = {
        "lookup": "brand-0a1b.1",
        "stage": stage,
        "attempt": 2,
        "deadline_at": "2199-01-01T00:00:00Z",
        **message,
    }
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate(json.dumps(work).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return [json.loads(line) for line in out.splitlines()], json.loads(err)


def finding_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the finding, once the rest says whose it is."""
    assert (answer["lookup"], answer["attempt"]) == ("brand-0a1b.1", 2)
    found = answer["finding"]
    assert isinstance(found, dict)
    return found


def alone(imported: list[str]) -> bool:
    return not any(name.startswith(PRIVATE) for name in imported)


async def test_brand_resolution_alone() -> None:
    query = {"type": "resolution", "query": {"brand": "Acme", "domain": None}}
    (answer,), imported = await run_alone("brand-resolution", input=query)

    found = finding_of(answer)
    assert (found["type"], found["status"]) == ("resolved", "matched")
    assert found["brand"]["mail_domains"] == ["acme.example"]
    assert alone(imported)


async def test_contact_discovery_alone() -> None:
    answers, imported = await run_alone(
        "contact-discovery", input={"type": "discovery", "brand": BRAND}
    )

    seen, discovered = map(finding_of, answers)
    assert (seen["type"], discovered["type"]) == ("people-seen", "discovered")
    assert [person["full_name"] for person in discovered["people"]] == ["Ada Kern"]
    assert discovered["sources"] == {"listing": "used"}
    assert alone(imported)


async def test_ranking_alone() -> None:
    ada = {"personal": "person", "headline": "Head of Influencer Marketing at Acme", **PEOPLE}
    (answer,), imported = await run_alone(
        "ranking", input={"type": "ranking", "brand": BRAND, "people": [ada]}
    )

    found = finding_of(answer)
    assert found["type"] == "ranked"
    assert [(r["person"], r["family"]) for r in found["ranked"]] == [("p1", "influencer")]
    assert alone(imported)


async def test_verification_alone() -> None:
    ada = {"personal": "candidate", **PEOPLE}
    answers, imported = await run_alone(
        "verification",
        item="acme.example",
        input={"type": "verification", "mail_domain": "acme.example", "candidates": [ada]},
    )

    checked, verified = map(finding_of, answers)
    assert (checked["type"], verified["type"]) == ("mailbox-checked", "domain-verified")
    assert verified["checked"] == [checked["checked"]]
    assert checked["checked"]["address"] == "ada.kern@acme.example"
    assert verified["learned"]["catch_all"] is False
    assert [answer["item"] for answer in answers] == ["acme.example"] * 2
    assert alone(imported)


@pytest.mark.parametrize("name", ["cs.pipeline.runner", "cs.bus.topics", "cs.domain.codec"])
async def test_what_is_imported_is_really_told(name: str) -> None:
    _, imported = await run_alone(
        "ranking", input={"type": "ranking", "brand": BRAND, "people": []}
    )

    assert (name in imported) is (name != "cs.domain.codec")
