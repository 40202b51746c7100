"""Answers that a plug-in may not give: refused with its name, and the search is not charged."""

import json
from pathlib import Path

import pytest

from plugins.installed import Install, answers_of

#: Ranks everybody, with a family or level that there is not at two of the brands.
RANKING = """
from cs.plugins.stages import RankedPerson, RankingDone

FAMILY = {"Ossowen Skincare": "astrology"}
LEVEL = {"Auberlin": "emperor"}


class Ranking:
    name = "ranking"

    async def handle(self, work, report):
        brand = work.input.brand.name
        ranked = tuple(
            RankedPerson(
                person=each.person,
                title="Head of Social",
                family=FAMILY.get(brand, "social"),
                level=LEVEL.get(brand, "head"),
                score=1.0,
            )
            for each in work.input.people
        )
        return RankingDone(ranked=ranked)


def from_context(context):
    return Ranking()
"""
#: Finds every mailbox, and says so in a way that no verifier may.
LIAR = """
from contextlib import asynccontextmanager

import msgspec
from cs.plugins.verifiers import DomainFacts, Evidence, Verdict

WRONG = {
    "elsewhere": {"address": "ann@elsewhere.test"},
    "timeless": {"at": "naive"},
    "impostor": {"verifier": "smtp"},
}


class Liar:
    cost = 0
    learned = DomainFacts()

    def __init__(self, name, now):
        self.name, self._now = name, now

    @asynccontextmanager
    async def open(self, mail_domain, known):
        yield self

    async def check(self, address):
        right = Evidence(
            address=address,
            verdict=Verdict.DELIVERABLE,
            reason="said",
            verifier=self.name,
            at=self._now(),
        )
        wrong = WRONG[self.name]
        if "at" in wrong:
            wrong = {"at": right.at.replace(tzinfo=None)}
        return msgspec.structs.replace(right, **wrong)


def elsewhere(context):
    return Liar("elsewhere", context.now)


def timeless(context):
    return Liar("timeless", context.now)


def impostor(context):
    return Liar("impostor", context.now)
"""
LIARS = {
    "elsewhere": "its evidence is about another address",
    "timeless": "its evidence has a time without a time zone",
    "impostor": "its evidence names another verifier",
}


@pytest.mark.slow  # a service in a process of its own
def test_a_refused_answer_is_named_and_its_search_is_not_charged(
    install: Install, tmp_path: Path
) -> None:
    install(
        {"acme_wrong/ranking.py": RANKING, "acme_wrong/liar.py": LIAR},
        {
            "cs.stages": {"ranking": "acme_wrong.ranking:from_context"},
            "cs.verifiers": {name: f"acme_wrong.liar:{name}" for name in LIARS},
        },
    )
    given = {"CS_STAGES": "ranking", "CS_VERIFIERS": ",".join(LIARS)}
    found, output = answers_of(tmp_path, "Ossowen Skincare", "Auberlin", "Veltrana", **given)

    lines = [json.loads(line) for line in output.splitlines() if line[:1] == "{"]
    refused = [(x["stage"], x["why"]) for x in lines if x["event"] == "finding_refused"]
    assert [stage for stage, _ in refused] == ["ranking", "ranking"]
    assert "].family is none of" in refused[0][1]
    assert "].level is none of" in refused[1][1]
    assert {x["verifier"]: x["why"] for x in lines if x["event"] == "verifier_failed"} == LIARS
    assert [(each["status"], each["charged"]) for each in found] == [("failed", False)] * 3
    assert not [c for each in found for c in each["contacts"] if c.get("email")]
    assert found[-1]["usage"]["used"] == 0
