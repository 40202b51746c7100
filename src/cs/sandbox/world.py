"""Reads a world file, refuses contradictions in it, and lists what can be searched in it."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from cs.sandbox import WorldError
from cs.sandbox.shapes import (
    Asked,
    Brand,
    IntendedResult,
    MailboxState,
    Search,
    World,
    WorldMailDomain,
    addresses_of,
)

BUNDLED = Path(__file__).parent / "worlds" / "bundled.json"
#: Contradictions of a file that are reported.
_SHOWN = 20
_MAX_BYTES = 8 * 1024 * 1024
_BYTE = re.compile(r" \(byte (\d+)\)")


class WorldSearch(IntendedResult, frozen=True, kw_only=True):
    """One thing to search for, and its intended result.

    Attributes:
        parent: The parent company where the marketing team sits.
    """

    brand: str | None
    domain: str | None
    parent: str | None = None


def load(path: Path | None = None) -> World:
    """Return the world in *path*; ``None`` is the bundled one.

    Raises:
        WorldError: It cannot be read, or says something that cannot be.
    """
    file = path or BUNDLED
    data = _read(file)
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WorldError(f"{file}: not JSON: {_where(data, str(error))}") from error
    try:
        world = msgspec.convert(document, World)
    except msgspec.ValidationError as error:
        # A pattern is for machines.
        problem = re.sub(r" matching regex .*?(?= - at `|$)", " of another form", str(error))
        raise WorldError(f"{file}: {problem}") from error
    if wrong := list(islice(_contradictions(world), _SHOWN)):
        raise WorldError("\n".join(f"{file}: {text}" for text in wrong))
    return world


def _contradictions(world: World) -> Iterator[str]:
    """Yield the contradictions in *world*, each as "at <path>: <problem>"."""
    seen: dict[tuple[str, str], str] = {}
    for place, what, name in _names(world):
        if (first := seen.setdefault((what, name), place)) != place:
            yield f"at {place}: {what} {name!r} is taken by {first}; each may stand once"
    names = {brand.name for brand in world.brands}
    for n, brand in enumerate(world.brands):
        path = f"$.brands[{n}]"
        others = names - {brand.name}
        if brand.parent is not None and brand.parent not in others:
            yield f"at {path}.parent: {brand.parent!r} is no other brand of this world"
        for m, person in enumerate(brand.people):
            if person.before and person.before.brand not in others:
                place = f"{path}.people[{m}].before.brand"
                yield f"at {place}: {person.before.brand!r} is no other brand of this world"
        boxes = Counter(person.mailbox for person in brand.people if person.mailbox)
        for mailbox, times in boxes.items():
            if times > 1:
                yield f"at {path}.people: mailbox {mailbox!r} belongs to {times} people"
        yield from _unknown_addresses(world, path, brand)


def _names(world: World) -> Iterator[tuple[str, str, str]]:
    """Yield the place, the kind and the name of everything that may stand once."""
    for n, brand in enumerate(world.brands):
        path = f"$.brands[{n}]"
        yield f"{path}.domain", "domain of a site", brand.domain
        for m, former in enumerate(brand.site.former):
            yield f"{path}.site.former[{m}]", "domain of a site", former
        if brand.linkedin:
            yield f"{path}.linkedin", "company page", brand.linkedin
        for m, person in enumerate(brand.people):
            if person.slug:
                yield f"{path}.people[{m}].slug", "profile", person.slug
    for n, mail in enumerate(world.mail):
        yield f"$.mail[{n}]", "mail domain", mail.domain
        for m, host in enumerate(mail.hosts):
            yield f"$.mail[{n}].hosts[{m}].name", "mail host", host.name


def _unknown_addresses(world: World, path: str, brand: Brand) -> Iterator[str]:
    """Yield each address of `intends` that no person has."""
    domain = brand.mail_domain or brand.domain
    # A sister brand's people at the same mail domain may be found, too.
    sisters = (each for each in world.brands if (each.mail_domain or each.domain) == domain)
    known = {
        "verified": set(addresses_of(brand)),
        "may": {address for each in sisters for address in addresses_of(each)},
    }
    for field, addresses in known.items():
        for n, address in enumerate(getattr(brand.intends, field)):
            if address not in addresses:
                yield f"at {path}.intends.{field}[{n}]: no person here has {address!r}"


def listing(world: World) -> list[WorldSearch]:
    """Return everything that can be searched in *world*, in the order of its file."""
    brands = [
        WorldSearch(
            brand=brand.name,
            domain=brand.domain,
            parent=brand.parent,
            **msgspec.structs.asdict(brand.intends),
        )
        for brand in world.brands
    ]
    return brands + [
        WorldSearch(
            brand=search.brand,
            domain=search.domain,
            outcome=search.outcome,
            tags=search.tags,
            asked_by=(_asked(search),),
        )
        for search in world.searches
    ]


def _asked(search: Search) -> Asked:
    if search.brand and search.domain:
        return "both"
    return "brand" if search.brand else "domain"


def mail_domains(world: World) -> list[WorldMailDomain]:
    """Return every mail domain; one that the world does not describe is plain."""
    described = {mail.domain: mail for mail in world.mail}
    for brand in world.brands:
        for domain in (brand.domain, brand.mail_domain or brand.domain):
            described.setdefault(domain, WorldMailDomain(domain=domain))
    return list(described.values())


def mailbox_states(world: World, mail: WorldMailDomain) -> dict[str, MailboxState]:
    """Return the mailboxes of *mail*, by the part of their addresses before the @."""
    own = {
        person.mailbox
        for brand in world.brands
        if (brand.mail_domain or brand.domain) == mail.domain
        for person in brand.people
        if person.mailbox
    }
    states: dict[str, MailboxState] = dict.fromkeys(own, "open")
    return states | mail.mailboxes


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise WorldError(f"{file}: cannot be read: {error.strerror or error}") from error
    if len(data) > _MAX_BYTES:
        raise WorldError(f"{file}: larger than {_MAX_BYTES} bytes")
    return data


def _where(data: bytes, message: str) -> str:
    """Turn msgspec's byte number into a line and a column, both from 1."""
    if (byte := _BYTE.search(message)) is None:
        return message
    before = data[: int(byte[1])]
    line = before.count(b"\n") + 1
    column = len(before) - (before.rfind(b"\n") + 1) + 1
    return _BYTE.sub(f" (line {line}, column {column})", message)
