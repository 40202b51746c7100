"""Profile pages in the one form of each network, and sites that many share.  Pure."""

import re
from pathlib import Path

import msgspec

from cs.domain.names.profile_url import path_at, quoted, split_address

_SITES = msgspec.toml.decode(
    Path(__file__).with_name("sites.toml").read_bytes(), type=dict[str, str]
)


def sites(table: str) -> frozenset[str]:
    """Return the hosts or names in *table* of `sites.toml`."""
    return frozenset(_SITES[table].split())


#: Characters of a page's name, decoded; LinkedIn's, the longest, have 100.
SLUG = 100
_BARE_HOST = re.compile(
    r"\s*(?:[a-z0-9-]+\.)?(?:instagram|tiktok|linkedin)\.com/", re.IGNORECASE
)
_INSTAGRAM_NAME = re.compile(r"[A-Za-z0-9._]{1,30}")
_TIKTOK_NAME = re.compile(r"@[A-Za-z0-9._]{2,24}")
_INSTAGRAM_PATHS, _NO_COMPANY = sites("instagram_paths"), sites("linkedin_companies")
_HOSTING = sites("hosting")
_SHARED = sites("shared_hosts") | _HOSTING
_FREE_MAIL, _FREE_EVERYWHERE = sites("free_mail"), sites("free_mail_everywhere")


def company_page(url: str) -> str | None:
    """Return the LinkedIn company page that *url* leads to; no share or people link.

    >>> company_page("https://de.linkedin.com/company/Acme-Co/about/?trk=x")
    'https://www.linkedin.com/company/acme-co'
    """
    match path_at(_whole(url), "linkedin.com"):
        case ["company" | "company-beta", slug, *_] if len(slug) <= SLUG:
            return None if slug.lower() in _NO_COMPANY else company_page_of(slug)
        case _:
            return None


def company_page_of(slug: str) -> str:
    """Return the LinkedIn company page called *slug*."""
    return f"https://www.linkedin.com/company/{quoted(slug.lower())}"


def instagram(url: str) -> str | None:
    """Return the Instagram profile that *url* is; no post, no story, no share link."""
    match path_at(_whole(url), "instagram.com") or path_at(url, "instagr.am"):
        case ["_u", name] | [name]:  # "_u" opens the app
            fits = _INSTAGRAM_NAME.fullmatch(name) and name.lower() not in _INSTAGRAM_PATHS
            return instagram_of(name) if fits else None
        case _:
            return None


def instagram_of(name: str) -> str:
    """Return the Instagram profile called *name*."""
    return f"https://www.instagram.com/{quoted(name.lower())}"


def tiktok(url: str) -> str | None:
    """Return the TikTok profile that *url* is; no video, no share link."""
    match path_at(_whole(url), "tiktok.com"):
        case [name] if _TIKTOK_NAME.fullmatch(name):
            return tiktok_of(name)
        case _:
            return None


def tiktok_of(name: str) -> str:
    """Return the TikTok profile called *name*, with or without its "@"."""
    return f"https://www.tiktok.com/@{quoted(name.removeprefix('@').lower())}"


def _whole(url: str) -> str:
    """Return *url*, a host without a scheme made an address: "www.instagram.com/acme"."""
    return f"//{url.strip()}" if _BARE_HOST.match(url) else url


def is_hosted(url: str) -> bool:
    """Say whether *url* is a person's page at a service that has many people's."""
    split = split_address(url)
    if split is None or not (split.path.strip("/") or split.query):
        return False
    host = split.hostname or ""
    return any(host == service or host.endswith(f".{service}") for service in _HOSTING)


def is_shared_host(domain: str) -> bool:
    """Say whether names below *domain* are given to anyone who asks for one."""
    return domain in _SHARED


def is_free_mail(domain: str) -> bool:
    """Say whether anyone may have a mailbox at *domain*.

    >>> is_free_mail("yahoo.co.uk"), is_free_mail("mail.acme.example")
    (True, False)
    """
    first, *rest = domain.split(".")
    everywhere = first in _FREE_EVERYWHERE and all(len(label) <= 3 for label in rest)
    return everywhere or domain in _FREE_MAIL
