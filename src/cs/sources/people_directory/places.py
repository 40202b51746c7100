"""Where people of the directory are looked for: forms of a company's name, and domains.  Pure.

Names meet as those of brands do (`cs.domain.names.brand_forms`): case, accents, legal forms,
plurals and words for the firm say nothing.
"""

from collections.abc import Iterable, Iterator

from cs.directory.person import DirectoryPerson
from cs.domain.contact import BrandFacts
from cs.domain.names.brand_forms import close_forms, core_forms
from cs.domain.names.brand_match import names_host
from cs.domain.names.hosts import sites_of
from cs.sources.social_pages import is_shared_host

#: Hosts above a web site's that it is found by: "shop.eu.acme.co.uk" by "acme.co.uk".
_ABOVE = 4
#: Where everybody may have a mailbox: it says nothing of who they work for.
_FREE_MAIL = frozenset(
    {
        *("gmail.com", "googlemail.com", "msn.com", "ymail.com", "aol.com", "icloud.com"),
        *("me.com", "mac.com", "web.de", "t-online.de", "freenet.de", "protonmail.com"),
        *("proton.me", "pm.me", "zohomail.com", "mail.com", "mail.ru", "yandex.ru"),
        *("yandex.com", "qq.com", "163.com", "126.com", "naver.com", "daum.net"),
        *("hanmail.net", "rediffmail.com", "orange.fr", "wanadoo.fr", "laposte.net"),
        *("free.fr", "sfr.fr", "libero.it", "virgilio.it", "comcast.net", "verizon.net"),
        *("btinternet.com", "uol.com.br", "terra.com.br", "bol.com.br", "seznam.cz"),
        *("wp.pl", "o2.pl", "interia.pl", "fastmail.com", "hey.com"),
    }
)
#: Those that are there in many countries: "hotmail.fr", "yahoo.co.uk".
_FREE_EVERYWHERE = frozenset({"hotmail", "outlook", "live", "yahoo", "gmx"})


def places_of(person: DirectoryPerson) -> frozenset[str]:
    """Return where *person* is to be found."""
    mail = person.email.rpartition("@")[2] if person.email else ""
    hosts = [person.domain or "", "" if is_free_mail(mail) else mail]
    return frozenset({*_named(filter(None, [person.company])), *_hosts(hosts)})


def places_asked(brand: BrandFacts) -> frozenset[str]:
    """Return where people of *brand*, or of its parent, are looked for."""
    domains = {f"domain:{each}" for each in own_domains(brand)}
    return frozenset(_named(names_of(brand))) | domains


def is_meant(brand: BrandFacts, person: DirectoryPerson) -> bool:
    """Say whether *person*, found at a place of *brand*, may be of that company.

    Who is found by the company's name alone is not, if the file says that its web site is one
    that is called otherwise: Delta Faucet's people are not Delta's.
    """
    if person.domain is None or not own_domains(brand):
        return True
    sites = set(sites_of(person.domain))
    if sites.intersection(own_domains(brand)):
        return True
    return any(names_host(person.domain, name) for name in names_of(brand))


def names_of(brand: BrandFacts) -> list[str]:
    """Return what the company of *brand* may be called."""
    return [each for each in (brand.name, *brand.aliases, brand.parent_company) if each]


def own_domains(brand: BrandFacts) -> frozenset[str]:
    """Return the domains that are *brand*'s, web site and mail."""
    return frozenset(filter(None, (brand.domain, *brand.mail_domains)))


def is_free_mail(domain: str) -> bool:
    """Say whether everybody may have a mailbox at *domain*.

    >>> is_free_mail("yahoo.co.uk"), is_free_mail("mail.acme.example")
    (True, False)
    """
    first, *rest = domain.split(".")
    everywhere = first in _FREE_EVERYWHERE and all(len(label) <= 3 for label in rest)
    return everywhere or domain in _FREE_MAIL


def _named(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for key in close_forms(name) | core_forms(name):
            yield f"name:{key}"


def _hosts(hosts: Iterable[str]) -> Iterator[str]:
    for host in filter(None, hosts):
        for site in list(sites_of(host))[:_ABOVE]:
            if not is_shared_host(site):
                yield f"domain:{site}"
