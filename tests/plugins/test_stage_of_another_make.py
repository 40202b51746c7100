"""A stage that `cs new` writes does the work of ours in one process."""

import asyncio
import re
from contextlib import AbstractContextManager
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from cli.command import Here
from cs.plugins.new_package import PackageKind
from plugins.installed import Install, answers_of, install_written
from plugins.played import on_loopback

ROOT = Path(__file__).parents[2]
PLAY = "cs_stage_verification/play.py"


def ranking_service() -> AbstractContextManager[str]:
    """Serve the ranking of `examples/stage-python` on loopback; enter it for where.

    In the bundled world headlines of two people at Veltrana have the word that counts.
    """
    rank = run_path(str(ROOT / "examples" / "stage-python" / "ranking.py"))["answer"]
    return on_loopback(lambda asked: {"result": asyncio.run(rank(asked.json))})


@pytest.fixture
def site(install: Install, tmp_path: Path) -> Path:
    """Where the package is installed."""
    install_written(install, PackageKind.STAGE, "ranking")
    return tmp_path / "site"


def is_ranked_by_weights(answer: dict[str, Any]) -> bool:
    """Return whether it is the written ranking that has decided who is shown."""
    headlines = [contact["headline"] for contact in answer["contacts"]]
    titles = [contact["title"] for contact in answer["contacts"]]
    return (
        bool(headlines)
        and all("influencer" in headline.casefold().split() for headline in headlines)
        and titles == [headline.partition(" at ")[0] for headline in headlines]
    )


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_one_process_runs_it_in_place_of_ours(tmp_path: Path) -> None:
    with ranking_service() as url:
        given = {"CS_STAGES": "ranking", "CS_STAGES__RANKING__URL": url}
        (found,), output = answers_of(tmp_path, "Veltrana", **given)

    assert "wherever that leads: stage ranking\n" in output
    assert is_ranked_by_weights(found)


@pytest.mark.slow
def test_in_one_process_a_verification_vouches_for_mailboxes(
    install: Install, tmp_path: Path
) -> None:
    """Its verifier is no plug-in: the setting `foreign_verifiers` names it."""
    install_written(install, PackageKind.STAGE, "verification")
    with on_loopback(run_path(str(tmp_path / "site" / PLAY))["answer"]) as url:
        given = {
            "CS_STAGES": "verification",
            "CS_STAGES__VERIFICATION__URL": url,
            "CS_FOREIGN_VERIFIERS": "verification-service",
        }
        (found,), _ = answers_of(tmp_path, "Veltrana", **given)

    # Whose name has other than plain letters, the played service knows no mailbox of.
    sources = {contact["email_source"] for contact in found["contacts"]}
    assert sources - {None} == {"verification-service"}


@pytest.mark.usefixtures("site")
def test_the_check_of_settings_names_it_and_what_it_lacks(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "site" / "cs.toml"

    assert here("config", "check", "--json").rows[0]["stages"] == []
    used = here("config", "check", "--json", f"--config={file}").rows[0]
    assert used["stages"] == ["ranking"]
    for stages, message in (
        ("verification", r"stages: 'verification' is not installed"),
        ("ranking", r"stage 'ranking' .* cannot be used: .*`url`"),
    ):
        assert re.search(message, here("config", "check", CS_STAGES=stages).error(2))


def test_a_stage_that_the_service_has_not_is_refused(here: Here, install: Install) -> None:
    module = (
        "class Fifth:\n    name = 'fifth'\n    async def handle(self, work, report): ...\n"
        "def made(context): return Fifth()\n"
    )
    install({"acme_fifth.py": module}, {"cs.stages": {"fifth": "acme_fifth:made"}})

    message = here("config", "check", CS_STAGES="fifth").error(2)

    assert "no stage is called so; there are brand-resolution" in message
