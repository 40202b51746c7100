"""By what a person can be found without being named: keyed hashes of who they are.

E-mail addresses and profile addresses identify a person.  Name and company do so only
of a person without a profile address: two people of one name have two profiles.

Whatever a source, a stage or an old event says of a person has a fingerprint: what is no
mailbox or no Unicode text is hashed as it stands, and nothing here raises for it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

from cs.domain.mail.syntax import ascii_mailbox
from cs.domain.names.profile_url import person_page


class Fingerprinter(Protocol):
    def fingerprint(self, kind: str, value: str) -> str: ...


def email_print(keys: Fingerprinter, address: str) -> str:
    """Return the fingerprint of a mailbox, whatever its case and however its domain is written.

    RFC 5321 lets a host tell cases of the local part apart; none that matters does.
    """
    return _print(keys, "email", ascii_mailbox(address.strip().casefold()))


def profile_print(keys: Fingerprinter, url: str) -> str:
    """Return the fingerprint of a profile, whichever address of it a source named."""
    try:
        page = person_page(url)
    except UnicodeEncodeError:  # a lone surrogate, which no address has
        page = None
    return _print(keys, "profile", (page or url).strip().casefold())


def name_print(keys: Fingerprinter, full_name: str, company: str) -> str:
    return _print(keys, "name", f"{full_name.casefold()}|{company.casefold()}")


def _print(keys: Fingerprinter, kind: str, value: str) -> str:
    if not value.isascii():
        # A lone surrogate has no bytes; JSON cannot bring one, a plug-in can.
        value = value.encode(errors="replace").decode()
    return keys.fingerprint(kind, value)


def fingerprints(keys: Fingerprinter, value: Mapping[str, Any]) -> Iterator[str]:
    """Yield by what the person of *value*, the fields of a personal value, can be found."""
    for address in (value.get("email"), value.get("address"), *value.get("addresses", ())):
        if address:
            yield email_print(keys, address)
    if url := value.get("linkedin_url"):
        yield profile_print(keys, url)
    elif (name := value.get("full_name")) and (company := value.get("company")):
        yield name_print(keys, name, company)


#: What a fingerprint that proves an identity was made of.
Kind = Literal["profile", "email", "name"]


def identities_of(keys: Fingerprinter, value: Mapping[str, Any]) -> Iterator[tuple[Kind, str]]:
    """Yield what the personal *value* proves its person to be, each with its fingerprint.

    Profile, verified mailbox, and name with company.  An address that a source only named
    proves nothing; a team may share it.
    """
    if url := value.get("linkedin_url"):
        yield "profile", profile_print(keys, url)
    if address := value.get("email") or value.get("address"):
        yield "email", email_print(keys, address)
    if (name := value.get("full_name")) and (company := value.get("company")):
        yield "name", name_print(keys, name, company)
