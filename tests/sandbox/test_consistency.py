from typing import Any

import pytest

from cs.sandbox.consistency import contradictions
from sandbox.small_world import ACME, acme_with, world_of

FAILED = {"outcome": "no_emails"}
BETA = acme_with(name="Beta", domain="beta.test", linkedin="beta", intends=FAILED)


def mail(**parts: Any) -> list[dict[str, Any]]:
    return [{"domain": "acme.test", **parts}]


def intending(**intends: Any) -> list[dict[str, Any]]:
    return [acme_with(intends=intends)]


def test_world_without_contradictions_has_none() -> None:
    assert contradictions(world_of(brands=[ACME, BETA])) == []


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (
            {"brands": [ACME, BETA | {"domain": "acme.test"}]},
            "at $.brands[1].domain: domain of a site 'acme.test' is taken by $.brands[0].",
        ),
        (
            {"brands": [ACME, BETA | {"site": {"former": ["acme.test"]}}]},
            "at $.brands[1].site.former[0]: domain of a site 'acme.test' is taken",
        ),
        (
            {"brands": [ACME, BETA | {"linkedin": "acme"}]},
            "at $.brands[1].linkedin: company page 'acme' is taken",
        ),
        ({"mail": mail() * 2}, "at $.mail[1]: mail domain 'acme.test' is taken"),
        (
            {"mail": mail(hosts=[{"name": "mx.acme.test"}] * 2)},
            "at $.mail[0].hosts[1].name: mail host 'mx.acme.test' is taken",
        ),
        (
            {"mail": mail(mx="none", hosts=[{"name": "mx.acme.test"}])},
            'at $.mail[0].hosts: hosts stand only with "mx": "records"',
        ),
        (
            {"brands": [acme_with(parent="Nobody")]},
            "at $.brands[0].parent: 'Nobody' is no other",
        ),
        ({"brands": [acme_with(parent="Acme")]}, "at $.brands[0].parent: 'Acme' is no other"),
        (
            {
                "brands": [
                    acme_with(parent="Beta"),
                    BETA
                    | {"known_by": ["searxng"], "intends": FAILED | {"asked_by": ["brand"]}},
                ]
            },
            "Wikidata knows 'Acme' but not its parent",
        ),
        (
            {"brands": [acme_with(people=ACME["people"] * 2)]},
            "mailbox 'jo.ek' belongs to 2 people",
        ),
        (
            {"brands": [ACME, BETA | {"name": "ACME"}]},
            'asked_by: "brand" cannot hold, 2 brands are called',
        ),
        (
            {"brands": [acme_with(known_by=["website"])]},
            'asked_by: "brand" needs "wikidata" or "searxng"',
        ),
        (
            {"brands": [acme_with(known_by=["wikidata"])]},
            'asked_by: "domain" needs a site that is up',
        ),
        (
            {"brands": [acme_with(site={"state": "down"})]},
            'asked_by: "domain" needs a site that is up',
        ),
        (
            {"brands": intending(outcome="done", verified=["al@acme.test"])},
            "verified[0]: 'al@acme.test' is nobody's here; allowed: jo.ek@acme.test",
        ),
        ({"brands": intending(outcome="done")}, '"done" goes with addresses in "verified"'),
        (
            {"brands": intending(outcome="no_emails", verified=["jo.ek@acme.test"])},
            '"done" goes with addresses in "verified"',
        ),
        (
            {"brands": intending(outcome="no_emails", may=["jo.ek@acme.test"])},
            'may: goes only with "verified"',
        ),
        (
            {
                "brands": intending(
                    outcome="done", verified=["jo.ek@acme.test"], may=["jo.ek@acme.test"]
                )
            },
            "may[0]: address 'jo.ek@acme.test' is taken by",
        ),
        ({"mail": mail(behaviour={"kind": "catch_all"})}, "cannot be proved: no server"),
        ({"mail": mail(behaviour={"kind": "down"})}, "cannot be proved: no server"),
        (
            {"mail": mail(mailboxes={"jo.ek": "full"})},
            "cannot be proved: the mailbox is 'full'",
        ),
        ({"mail": mail(mx="null")}, "cannot be proved: the domain has a null MX"),
        ({"mail": mail(dns="servfail")}, "cannot be proved: its DNS is 'servfail'"),
        ({"brands": intending(outcome="scrape_error")}, '"scrape_error" needs a failure'),
        ({"brands": intending(outcome="error")}, '"error" needs a mail domain whose dns'),
        ({"brands": intending(outcome="timeout")}, '"timeout" needs greylisting'),
        ({"brands": [acme_with(people=[], intends=FAILED)]}, "'no_emails' needs people"),
        (
            {
                "brands": [
                    acme_with(
                        mail_domain="mail.test",
                        intends={"outcome": "done", "verified": ["jo.ek@mail.test"]},
                    )
                ]
            },
            "nobody can find out that mail is at 'mail.test'",
        ),
        ({"searches": [{"outcome": "no_linkedin"}]}, "give a brand, a domain or both"),
        ({"searches": [{"brand": "Xy", "outcome": "done"}]}, '"done" belongs to a brand'),
        (
            {"searches": [{"brand": "Acme", "outcome": "no_linkedin"}]},
            "this world has exactly that brand",
        ),
    ],
)
def test_contradiction_is_named_with_its_place(parts: dict[str, Any], said: str) -> None:
    found = contradictions(world_of(**parts))

    assert any(said in text for text in found), found
    assert all(text.startswith("at $.") for text in found)


@pytest.mark.parametrize(
    "hosts",
    [
        [{"name": "a.acme.test", "behaviour": {"kind": "down"}}, {"name": "b.acme.test"}],
        [{"name": "a.acme.test", "behaviour": {"kind": "starttls_only"}}],
    ],
)
def test_one_host_that_tells_is_enough(hosts: list[dict[str, Any]]) -> None:
    assert contradictions(world_of(mail=mail(hosts=hosts))) == []


def test_sister_brand_s_people_may_turn_up_but_need_not() -> None:
    al = [{"name": "Al Fry", "headline": "Brand Manager", "mailbox": "al.fry"}]
    sister = BETA | {"people": al, "mail_domain": "acme.test"}
    may, must = (
        [acme_with(intends={"outcome": "done", "verified": ["jo.ek@acme.test"]} | more), sister]
        for more in ({"may": ["al.fry@acme.test"]}, {"verified": ["al.fry@acme.test"]})
    )

    assert contradictions(world_of(brands=may)) == []
    assert len(contradictions(world_of(brands=must))) == 1
