"""Every search of the bundled world ends as the world intends, over real HTTP, DNS and SMTP."""

import pytest

from cs.cli.proof import Proved, prove_world
from cs.sandbox.world import load


@pytest.mark.slow
async def test_the_bundled_world_ends_as_it_intends() -> None:
    """Two minutes: one search is meant to outlast the longest hold, one to time out."""
    proved = await prove_world(load(None), lambda *_: None)

    wrong = {row.asked: (row.differs, row.ended, row.verified) for row in proved if row.differs}
    assert wrong == {}
    assert {row.intended for row in proved} == {
        "done",
        "no_linkedin",
        "no_contacts",
        "no_emails",
        "scrape_error",
        "timeout",
        "error",
    }


def test_a_proof_tells_what_differs() -> None:
    row = Proved(
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
