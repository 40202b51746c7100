"""Addresses of profile pages, in the one form that the service uses for each.  Pure."""

import re

from cs.domain.names.profile_url import path_at, quoted, split_address

#: Characters of a page's name, decoded; LinkedIn's, the longest, have 100.
SLUG = 100
_BARE_HOST = re.compile(
    r"\s*(?:[a-z0-9-]+\.)?(?:instagram|tiktok|linkedin)\.com/", re.IGNORECASE
)
_INSTAGRAM_NAME = re.compile(r"[A-Za-z0-9._]{1,30}")
_TIKTOK_NAME = re.compile(r"@[A-Za-z0-9._]{2,24}")
#: First parts of Instagram paths that are no profiles: posts, shares, the company's own.
_INSTAGRAM_OWN = frozenset(
    {
        *("p", "reel", "reels", "tv", "stories", "explore", "share", "accounts", "about"),
        *("direct", "legal", "developer", "web", "privacy", "terms", "s", "popular"),
    }
)
#: Sites below which everybody may have a name: whose it is says nothing of who is there.
SHARED_HOSTS = frozenset(
    {
        *("myshopify.com", "shopify.com", "wordpress.com", "blogspot.com", "tumblr.com"),
        *("wix.com", "wixsite.com", "squarespace.com", "webflow.io", "weebly.com"),
        *("godaddysites.com", "jimdo.com", "jimdosite.com", "bigcartel.com", "ecwid.com"),
        *("github.io", "gitlab.io", "netlify.app", "vercel.app", "pages.dev", "web.app"),
        *("herokuapp.com", "azurewebsites.net", "cloudfront.net", "amazonaws.com"),
        *("substack.com", "medium.com", "notion.site", "carrd.co", "gumroad.com"),
        *("ebay.com", "ebay.co.uk", "ebay.de", "faire.com", "zendesk.com", "hubspot.com"),
        *("hubspotpagebuilder.com", "mailchimp.com", "typeform.com", "salesforce.com"),
        *("sharepoint.com", "business.site", "site123.me", "strikingly.com", "yolasite.com"),
        *("bandcamp.com", "itch.io", "ghost.io", "framer.app", "framer.website"),
        *("workdayjobs.com", "myworkdayjobs.com", "greenhouse.io", "lever.co", "workable.com"),
    }
)
_NO_COMPANY = frozenset({"unavailable", "login", "setup"})
#: Hosts whose pages belong to whoever made them, not to a brand of that domain.
HOSTING = frozenset(
    {
        *("facebook.com", "instagram.com", "linkedin.com", "tiktok.com", "twitter.com"),
        *("x.com", "youtube.com", "pinterest.com", "myspace.com", "linktr.ee", "etsy.com"),
        *("sites.google.com", "google.com", "amazon.com", "wikipedia.org", "github.com"),
    }
)


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
            fits = _INSTAGRAM_NAME.fullmatch(name) and name.lower() not in _INSTAGRAM_OWN
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
    """Say whether *url* is somebody's page at a service that has many people's."""
    split = split_address(url)
    if split is None or not (split.path.strip("/") or split.query):
        return False
    host = split.hostname or ""
    return any(host == service or host.endswith(f".{service}") for service in HOSTING)


def is_shared_host(domain: str) -> bool:
    """Say whether names below *domain* are given to whoever asks for one."""
    return domain in SHARED_HOSTS or domain in HOSTING
