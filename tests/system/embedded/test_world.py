"""Every search of the bundled world ends as the world intends, over real HTTP, DNS and SMTP."""

from typing import Any

import pytest

from harness.world_proof import SearchProof, prove_world


def wrong(proved: list[SearchProof]) -> dict[str, Any]:
    return {row.asked: (row.differs, row.ended, row.verified) for row in proved if row.differs}


@pytest.mark.slow
async def test_the_bundled_world_ends_as_it_intends_past_every_wait() -> None:
    """Takes seconds: the clock is moved; brands with a silent server are left out."""
    proved = await prove_world()

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
