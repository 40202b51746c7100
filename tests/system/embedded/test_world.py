"""Every search of the bundled world ends as the world intends, over real HTTP, DNS and SMTP."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cs.sandbox.world import load
from harness.world_proof import SearchProof, asking_the_silent, prove_world


def wrong(proved: list[SearchProof]) -> dict[str, Any]:
    return {row.asked: (row.differs, row.ended, row.verified) for row in proved if row.differs}


@pytest.mark.slow
async def test_the_bundled_world_ends_as_it_intends_past_every_wait() -> None:
    """Seconds: the clock is moved; what rests on somebody's silence is left out."""
    proved = await prove_world(load(None), quick=True)

    assert wrong(proved) == {}
    assert {row.intended for row in proved} == {
        "done",
        "no_linkedin",
        "no_contacts",
        "no_emails",
        "scrape_error",
        "error",
    }
    assert max(row.seconds for row in proved) > 85, "one outlasts the longest hold"


def test_a_quick_proof_leaves_out_who_may_meet_silence() -> None:
    assert asking_the_silent(load(None)) == {
        "calvessa.example",
        "gloamora.example",
        "zephrine.example",
    }


@pytest.mark.slow
@pytest.mark.begun_first
async def test_who_meets_silence_ends_as_the_bundled_world_intends() -> None:
    """Two minutes of real time: what the quick proof leaves out, one of them times out.

    By themselves: some end a few seconds before their time is up, on a machine at rest.
    """
    world = load(None)
    silent = asking_the_silent(world)
    brands = [brand for brand in world.brands if brand.domain in silent]

    proved = await prove_world(replace(world, brands=brands, searches=[]))

    assert wrong(proved) == {}
    assert {row.intended for row in proved} == {brand.intends.outcome for brand in brands}
    assert "timeout" in {row.intended for row in proved}
    assert len(proved) >= 2 * len(silent)


#: A world with one brand and one person; what is changed in it must show in the answer.
ONE_BRAND = {
    "brands": [
        {
            "name": "Solbrook",
            "domain": "solbrook.test",
            "linkedin": "solbrook",
            "people": [
                {
                    "name": "Ida Nyman",
                    "headline": "Head of Influencer Marketing at Solbrook",
                    "mailbox": "ida.nyman",
                }
            ],
            "intends": {"outcome": "done", "verified": ["ida.nyman@solbrook.test"]},
        }
    ]
}
REFUSED = {"intends": {"outcome": "no_emails"}}


def changed(
    person: dict[str, Any], brand: dict[str, Any], mail: dict[str, Any]
) -> dict[str, Any]:
    before: dict[str, Any] = ONE_BRAND["brands"][0]
    people = [{**before["people"][0], **person}]
    entry = [{"domain": "solbrook.test", **mail}] if mail else []
    return {"brands": [{**before, **brand, "people": people}], "mail": entry}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "outcome", "email"),
    [
        (ONE_BRAND, "done", "ida.nyman@solbrook.test"),
        (
            changed(
                {"mailbox": "inyman"},
                {"intends": {"outcome": "done", "verified": ["inyman@solbrook.test"]}},
                {},
            ),
            "done",
            "inyman@solbrook.test",
        ),
        (changed({"mailbox": None}, REFUSED, {}), "no_emails", None),
        (changed({}, REFUSED, {"behaviour": {"kind": "catch_all"}}), "no_emails", None),
        (changed({}, REFUSED, {"mailboxes": {"ida.nyman": "disabled"}}), "no_emails", None),
        (changed({}, REFUSED, {"mailboxes": {"ida.nyman": "full"}}), "no_emails", None),
        (changed({}, REFUSED, {"behaviour": {"kind": "refuses_us"}}), "no_emails", None),
        (
            changed(
                {"headline": "Designer at Solbrook"},
                {"intends": {"outcome": "no_contacts"}},
                {},
            ),
            "no_contacts",
            None,
        ),
    ],
)
async def test_what_the_world_changes_the_answer_shows(
    tmp_path: Path, world: dict[str, Any], outcome: str, email: str | None
) -> None:
    file = tmp_path / "world.json"
    file.write_bytes(msgspec.json.encode(world))

    proved = await prove_world(load(file))

    assert {row.ended for row in proved} == {outcome}
    assert {row.verified for row in proved} == {(email,) if email else ()}
    assert all(not row.differs for row in proved)


def test_a_proof_tells_what_differs() -> None:
    row = SearchProof(
        asked="Acme",
        intended="done",
        ended="no_emails",
        expected=("a@acme.test",),
        maybe=(),
        verified=(),
        seconds=1.0,
        charged=False,
    )

    assert row.differs == ("outcome", "people", "charge")
