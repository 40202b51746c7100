"""Hosts of one site: what stands above what; without a list of suffixes (contract B8)."""

from collections.abc import Iterator


def sites_of(host: str) -> Iterator[str]:
    """Yield *host* and each host above it that has two labels at least.

    Which of them is a site, and which a suffix that registries sell names below, only a
    source that knows the site can say.

    >>> list(sites_of("eu.shop.acme.com"))
    ['eu.shop.acme.com', 'shop.acme.com', 'acme.com']
    """
    while "." in host:
        yield host
        host = host.partition(".")[2]
