import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from sandbox.small_world import ACME, acme_with, searches_of


def saved(folder: Path, **parts: Any) -> Path:
    file = folder / "mine.json"
    file.write_text(json.dumps({"brands": [ACME], **parts}))
    return file


@pytest.fixture
def refusal(here: Here, tmp_path: Path) -> Callable[[Path], str]:
    """Return why a service in a world of a file does not start."""

    def start(file: Path) -> str:
        where = ("--port=0", "--admin-port=0", f"--data-dir={tmp_path / 'data'}")
        return here("serve", "--sandbox", str(file), *where).error()

    return start


def test_listing_says_what_can_be_searched_and_what_comes_of_it(tmp_path: Path) -> None:
    nowhere = {"brand": "Nowhere", "outcome": "no_linkedin", "tags": ["x"]}
    _, (acme, other) = searches_of(saved(tmp_path, searches=[nowhere]))

    assert (acme.brand, acme.domain, acme.outcome) == ("Acme", "acme.test", "done")
    assert (acme.verified, acme.asked_by) == (("jo.ek@acme.test",), ("brand", "domain", "both"))
    assert (other.brand, other.domain, other.outcome) == ("Nowhere", None, "no_linkedin")
    assert (other.tags, other.asked_by) == (("x",), ("brand",))


Refusal = Callable[[Path], str]


def test_file_that_is_not_there_is_named(refusal: Refusal, tmp_path: Path) -> None:
    file = tmp_path / "none.json"

    assert refusal(file) == f"{file}: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"brands": [\n  {,}\n]}', "not JSON"),
        ('{"brands": [\n  {,}\n]}', "(line 2, column 4)"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "Expected `object`, got `array`"),
        ('{"brands": "\udcff"}', "not JSON"),
    ],
)
def test_file_that_is_no_json_is_refused_with_the_place(
    refusal: Refusal, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))

    message = refusal(file)

    assert message.startswith(f"{file}: ")
    assert said in message


def test_file_that_is_too_large_is_not_read(refusal: Refusal, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(b" " * (8 * 1024 * 1024 + 1))

    assert "larger than 8388608 bytes" in refusal(file)


FORM = "Expected `str` of another form"
QUIET = {"outcome": "no_emails"}
BETA = acme_with(name="Beta", domain="beta.test", linkedin="beta", intends=QUIET)


def mail(**parts: Any) -> dict[str, Any]:
    return {"mail": [{"domain": "acme.test", **parts}]}


def services(**failures: dict[str, Any]) -> dict[str, Any]:
    return {"services": {name: {"failure": failure} for name, failure in failures.items()}}


def brands(*more: dict[str, Any], **acme: Any) -> dict[str, Any]:
    return {"brands": [acme_with(**acme), *more]}


#: Parts of a world, and what is said of them.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"brnads": []}, "Object contains unknown field `brnads`"),
    (mail(behaviour={"kind": "grumpy"}), "'grumpy' - at `$.mail[0].behaviour.kind`"),
    (mail(behaviour={"delay_s": 601}), "`$.mail[0].behaviour.delay_s`"),
    (mail(behaviour={"kind": "slow"}), "slow needs `delay_s` - at `$.mail[0].behaviour`"),
    (mail(behaviour={"kind": "greylisting"}), "greylisting needs `hint_s`"),
    (mail(behaviour={"hint_s": 5}), "`hint_s` is of the kind greylisting"),
    (services(wikidata={"kind": "unresponsive"}), "unresponsive is not one of this service"),
    (services(searxng={"kind": "maxlag"}), "maxlag is not one of this service"),
    (services(searxng={"kind": "down", "code": 503}), "`code` is of the kind status"),
    (mail(mailboxes={"Jo Ek": "open"}), f"{FORM} - at `key` in `$.mail[0].mailboxes`"),
    (brands(domain="Acme"), f"{FORM} - at `$.brands[0].domain`"),
    (brands(domain="acme.test\n"), f"{FORM} - at `$.brands[0].domain`"),
    (brands(BETA | {"domain": "acme.test"}), "at $.brands[1].domain: domain of a site 'acme"),
    (
        brands(BETA | {"site": {"former": ["acme.test"]}}),
        "[0]: domain of a site 'acme.te",
    ),
    (brands(BETA | {"linkedin": "acme"}), "at $.brands[1].linkedin: company page 'acme' is"),
    ({"mail": mail()["mail"] * 2}, "at $.mail[1]: mail domain 'acme.test' is taken"),
    (mail(hosts=[{"name": "mx.acme.test"}] * 2), "at $.mail[0].hosts[1].name: mail host"),
    (brands(parent="Nobody"), "at $.brands[0].parent: 'Nobody' is no other"),
    (brands(parent="Acme"), "at $.brands[0].parent: 'Acme' is no other"),
    (brands(people=ACME["people"] * 2), "mailbox 'jo.ek' belongs to 2 people"),
    (brands(intends=QUIET | {"verified": ["al@acme.test"]}), "verified[0]: no person here has"),
]


@pytest.mark.parametrize(("parts", "said"), REFUSED)
def test_what_is_wrong_is_named_with_file_and_place(
    refusal: Refusal, tmp_path: Path, parts: dict[str, Any], said: str
) -> None:
    file = saved(tmp_path, **parts)

    message = refusal(file)

    assert message.startswith(f"{file}: ")
    assert said in message


FEATURES = (
    "typical single large website-only wikidata-only catch-all greylist refuses-us full "
    "disabled null-mx backup-mx implicit-mx starttls one-recipient parent-company "
    "ambiguous-name ambiguous unknown no-role search-down search-rate-limited "
    "search-inconclusive wikidata-down slow outlasts-wait silent mail-down robots redirect "
    "former-domain noise diacritics compound-names pattern:first.last pattern:flast "
    "pattern:first pattern:f.last pattern:first_last"
)


WORLD, BUNDLED = searches_of()
#: Every way in which a search fails.
FAILURES = {"no_contacts", "no_emails", "no_linkedin", "timeout", "error", "scrape_error"}


def test_bundled_world_ends_in_every_way_and_uses_reserved_domains_only() -> None:
    domains = [brand.domain for brand in WORLD.brands] + [mail.domain for mail in WORLD.mail]

    assert {listed.outcome for listed in BUNDLED} == {"done", *FAILURES}
    assert {tag for listed in BUNDLED for tag in listed.tags} >= {*FEATURES.split()}
    assert {domain.rpartition(".")[2] for domain in domains} == {"test", "example"}


def test_bundled_world_is_fast_where_it_does_not_say_slow() -> None:
    slow_domains = {
        mail.domain
        for mail in WORLD.mail
        if mail.behaviour.delay_s > 0.1
        or mail.behaviour.hint_s > 5
        or mail.behaviour.kind in {"silent", "down"}
        or mail.dns != "answers"
    }
    late = {brand.domain for brand in WORLD.brands if brand.site.latency_s > 0.1}

    said = {listed.domain for listed in BUNDLED if "slow" in listed.tags}

    assert slow_domains | late == said
    assert WORLD.services.searxng.latency_s == WORLD.services.wikidata.latency_s == 0
