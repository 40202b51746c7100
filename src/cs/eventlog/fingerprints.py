"""By what a person can be found without being named: keyed hashes of who they are.

E-mail addresses and profile addresses say who somebody is.  Name and company do so only
of a person without a profile address: two people of one name have two profiles.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import idna


class Hashing(Protocol):
    def fingerprint(self, kind: str, value: str) -> str: ...


def email_print(keys: Hashing, address: str) -> str:
    """Return the fingerprint of a mailbox, whatever its case and however its domain is written.

    RFC 5321 lets a host tell cases of the local part apart; none that matters does.
    """
    local, at, domain = address.strip().casefold().rpartition("@")
    if not domain.isascii():
        domain = idna.encode(domain, uts46=True).decode("ascii")
    return keys.fingerprint("email", f"{local}{at}{domain}")


def profile_print(keys: Hashing, url: str) -> str:
    return keys.fingerprint("profile", url.strip().casefold())


def name_print(keys: Hashing, full_name: str, company: str) -> str:
    return keys.fingerprint("name", f"{full_name.casefold()}|{company.casefold()}")


def fingerprints(keys: Hashing, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield by what the person of *value*, the fields of a personal value, can be found."""
    for address in (value.get("email"), value.get("address"), *value.get("addresses", ())):
        if address:
            yield email_print(keys, address)
    if url := value.get("linkedin_url"):
        yield profile_print(keys, url)
    elif (name := value.get("full_name")) and (company := value.get("company")):
        yield name_print(keys, name, company)
