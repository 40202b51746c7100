"""Reading a world file, and what can be searched in it."""

import re
from pathlib import Path

import msgspec

from cs.sandbox.consistency import contradictions
from cs.sandbox.errors import WorldError
from cs.sandbox.shapes import Brand, Outcome, World, addresses_of

BUNDLED = Path(__file__).parent / "worlds" / "bundled.json"
_MAX_BYTES = 8 * 1024 * 1024
_BYTE = re.compile(r" \(byte (\d+)\)")


class Owner(msgspec.Struct, frozen=True):
    """A person and the address that must come out verified for them."""

    full_name: str
    address: str


class WorldSearch(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to search for, and what it is meant to end with.

    Attributes:
        verified: How many addresses must come out verified, those of ``people``.
        maybe: Other people who may be verified; no one else may.
        asked_by: Ways of asking for which this holds: "brand" alone, "domain" alone, "both".
        parent: The parent company where the marketing team sits.
    """

    brand: str | None
    domain: str | None
    outcome: Outcome
    verified: int
    tags: tuple[str, ...] = ()
    asked_by: tuple[str, ...] = ("both",)
    people: tuple[Owner, ...] = ()
    maybe: tuple[Owner, ...] = ()
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
    if wrong := contradictions(world):
        raise WorldError("\n".join(f"{file}: {text}" for text in wrong))
    return world


def listing(world: World) -> list[WorldSearch]:
    """Return everything that can be searched in *world*, in the order of its file."""
    names = {
        address: name for brand in world.brands for address, name in addresses_of(brand).items()
    }
    brands = [_listed(brand, names) for brand in world.brands]
    loose = [
        WorldSearch(
            brand=search.brand,
            domain=search.domain,
            outcome=search.outcome,
            verified=0,
            tags=search.tags,
            asked_by=(_asked(search.brand, search.domain),),
        )
        for search in world.searches
    ]
    return brands + loose


def _listed(brand: Brand, names: dict[str, str]) -> WorldSearch:
    owners = tuple(Owner(names[address], address) for address in brand.intends.verified)
    maybe = tuple(Owner(names[address], address) for address in brand.intends.may)
    return WorldSearch(
        brand=brand.name,
        domain=brand.domain,
        outcome=brand.intends.outcome,
        verified=len(owners),
        tags=brand.intends.tags,
        asked_by=brand.intends.asked_by,
        people=owners,
        maybe=maybe,
        parent=brand.parent,
    )


def _asked(brand: str | None, domain: str | None) -> str:
    if brand and domain:
        return "both"
    return "brand" if brand else "domain"


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
