"""What is checked after a storm finds what is wrong, and only that."""

import random

import pytest
from msgspec.structs import replace

from outside.loopback_web import WebRequest
from system.cluster.storm_checks import Stored
from system.cluster.storm_paid import Provider
from system.cluster.storm_report import Damage, Report
from system.faults.promises import BrokenPromise
from system.faults.results import ClientResults

GOOD = Report(
    damage=Damage(
        kills={"relay": 1},
        at_start=0,
        points={"relay.after-publish": 1},
        missing=(),
        servers=(),
        fell=(),
        bugs=(),
        seconds=1.0,
    ),
    clients=ClientResults(
        calls=1,
        cut=0,
        refused=0,
        asked=20,
        no_quota=0,
        keys=1,
        searches=20,
        reused=0,
        charged=1,
        intended=19,
        otherwise={},
        slowest_s=1.0,
        untrue=(),
        broken=(),
    ),
    stored=Stored(events=1, log=(), unfinished=0, views=(), rows=1, histories={}, questions={}),
    paid=1,
    paid_twice=(),
)


@pytest.mark.parametrize(
    ("asked", "lookups", "too_often"),
    [(1, 1, 0), (2, 2, 0), (1, 2, 0), (2, 1, 1), (1, 0, 1)],
)
def test_a_question_that_was_charged_twice_is_found(
    asked: int, lookups: int, too_often: int
) -> None:
    provider = Provider(random.Random(1))
    provider.web.asked = [WebRequest("/people?brand=Acme&domain=acme.test", {})] * asked

    assert len(provider.too_often({("Acme", "acme.test"): lookups})) == too_often


def test_a_report_of_a_good_storm_names_no_fault() -> None:
    assert GOOD.faults == []


@pytest.mark.parametrize(
    "bad",
    [
        replace(GOOD, clients=replace(GOOD.clients, broken=(BrokenPromise("lost", "s1"),))),
        replace(GOOD, clients=replace(GOOD.clients, untrue=("a stranger",))),
        replace(GOOD, clients=replace(GOOD.clients, intended=18)),
        replace(GOOD, clients=replace(GOOD.clients, searches=0, intended=0)),
        replace(GOOD, stored=replace(GOOD.stored, log=("a violation",))),
        replace(GOOD, stored=replace(GOOD.stored, views=("a row",))),
        replace(GOOD, stored=replace(GOOD.stored, unfinished=1)),
        replace(GOOD, damage=replace(GOOD.damage, missing=("relay.after-publish",))),
        replace(GOOD, damage=replace(GOOD.damage, bugs=("role_failed",))),
        replace(GOOD, paid_twice=("a",)),
        replace(GOOD, paid=0),
    ],
)
def test_a_report_names_what_was_broken(bad: Report) -> None:
    assert len(bad.faults) == 1
