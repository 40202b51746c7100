"""A world file that contradicts itself is refused, with the place."""

from typing import Any

from cs.sandbox.consistency import contradictions
from sandbox.small_world import ACME, acme_with, world_of

FAILED = {"outcome": "no_emails"}
BETA = acme_with(name="Beta", domain="beta.test", linkedin="beta", intends=FAILED)


def mail(**parts: Any) -> dict[str, Any]:
    return {"mail": [{"domain": "acme.test", **parts}]}


def intending(**intends: Any) -> dict[str, Any]:
    return {"brands": [acme_with(intends=intends)]}


def hosts(*names: str) -> dict[str, Any]:
    return mail(hosts=[{"name": name} for name in names])


SISTER = BETA | {
    "people": [{"name": "Al Fry", "headline": "Brand Manager", "mailbox": "al.fry"}],
    "mail_domain": "acme.test",
}


def sisters(**more: Any) -> dict[str, Any]:
    intends = {"outcome": "done", "verified": ["jo.ek@acme.test"]} | more
    return {"brands": [acme_with(intends=intends), SISTER]}


#: Parts of a world, and what is wrong with it; "" is nothing.
ROWS: list[tuple[dict[str, Any], str]] = [
    ({"brands": [ACME, BETA]}, ""),
    (sisters(may=["al.fry@acme.test"]), ""),
    (hosts("a.acme.test", "b.acme.test"), ""),
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
    ({"mail": mail()["mail"] * 2}, "at $.mail[1]: mail domain 'acme.test' is taken"),
    (hosts("mx.acme.test", "mx.acme.test"), "at $.mail[0].hosts[1].name: mail host"),
    ({"brands": [acme_with(parent="Nobody")]}, "at $.brands[0].parent: 'Nobody' is no other"),
    ({"brands": [acme_with(parent="Acme")]}, "at $.brands[0].parent: 'Acme' is no other"),
    ({"brands": [acme_with(people=ACME["people"] * 2)]}, "mailbox 'jo.ek' belongs to 2 people"),
    (
        intending(outcome="done", verified=["al@acme.test"]),
        "verified[0]: no person here has 'al@acme.test'",
    ),
    (sisters(verified=["al.fry@acme.test"]), "no person here has 'al.fry@acme.test'"),
]


def test_contradiction_is_named_with_its_place() -> None:
    def wrong(parts: dict[str, Any], expected: str) -> list[str] | None:
        found = contradictions(world_of(**parts))
        named = any(expected in text for text in found) if expected else not found
        return None if named and all(text.startswith("at $.") for text in found) else found

    check = [(parts, expected, wrong(parts, expected)) for parts, expected in ROWS]
    assert [row for row in check if row[2] is not None] == []
