from datetime import date

from cs.directory.person import DirectoryPerson
from cs.domain.contact import BrandFacts
from cs.sources.people_directory.source import is_meant, places_asked, places_of
from cs.sources.social_pages import is_free_mail

ACME = BrandFacts(
    name="Acmé & Sons",
    domain="acme.example",
    parent_company="Holdall Group",
    mail_domains=("mail-acme.example",),
)


def person(**fields: str | None) -> DirectoryPerson:
    return DirectoryPerson(full_name="Ada", as_of=date(2026, 11, 1), **fields)


def test_a_company_is_found_as_brands_are() -> None:
    asked = places_asked(ACME)
    for found in (
        {"company": "ACME and Sons, Inc."},
        {"company": "The Acme & Sons GmbH"},
        {"company": "Holdall"},
        {"domain": "acme.example"},
        {"domain": "eu.shop.acme.example"},
        {"email": "ada@mail-acme.example"},
    ):
        there = person(**found)
        assert asked & places_of(there), found
        assert is_meant(ACME, there), found
    for other in (
        {"company": "Acme & Sons Robotics"},
        {"company": "Acme"},
        {"domain": "sons.example"},
        {"domain": "acme.myshopify.com"},
        {"email": "ada@gmail.com"},
    ):
        assert not asked & places_of(person(**other)), other


def test_a_namesake_with_a_site_of_its_own_is_not_meant() -> None:
    delta = BrandFacts(name="Delta", domain="delta.com")

    told = {
        site: is_meant(delta, person(company="Delta", domain=site))
        for site in ("deltafaucet.com", "delta.com", "news.delta.com", "delta.de", None)
    }

    assert told == {
        "deltafaucet.com": False,
        "delta.com": True,
        "news.delta.com": True,
        "delta.de": True,
        None: True,
    }
    assert is_meant(BrandFacts(name="Delta"), person(domain="deltafaucet.com"))


def test_where_everybody_has_a_mailbox_is_no_company() -> None:
    free = ("gmail.com", "hotmail.fr", "yahoo.co.uk", "web.de", "gmx.net", "orange.fr")
    firms = ("orange.com", "bol.com", "mail.acme.example", "live.acme.example", "web.com")

    assert [each for each in free if not is_free_mail(each)] == []
    assert [each for each in firms if is_free_mail(each)] == []
