"""What Wikidata says of each brand of a world: labels and statements of its item."""

import uuid
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from cs.sandbox.shapes import Brand, World

_BUSINESS, _BRAND = "Q4830453", "Q431289"
_GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
_FORMER_UNTIL = "+2021-06-30T00:00:00Z"


class WikidataEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One item; ``brand`` is None where it only shares a brand's name."""

    id: str
    label: str
    description: str
    instance_of: str
    aliases: tuple[str, ...] = ()
    brand: Brand | None = None
    parent_id: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


def entries(world: World) -> list[WikidataEntry]:
    """Return the items of *world*; ids follow from its seed."""
    ids = _ids(world)
    by_name = {brand.name: brand for brand in world.brands}
    found = [
        WikidataEntry(
            id=ids[brand.domain],
            label=brand.name,
            description=brand.description,
            instance_of=_BRAND if brand.parent else _BUSINESS,
            aliases=brand.aliases,
            brand=brand,
            parent_id=ids[by_name[brand.parent].domain] if brand.parent else None,
        )
        for brand in world.brands
        if "wikidata" in brand.known_by
    ]
    found += [
        WikidataEntry(
            id=ids[f"{n} {item.label}"],
            label=item.label,
            description=item.description,
            instance_of=item.instance_of,
        )
        for n, item in enumerate(world.items)
    ]
    return found


def entity(entry: WikidataEntry, props: list[str]) -> dict[str, Any]:
    """Return the item of *entry* as wbgetentities does, with the asked *props*."""
    item: dict[str, Any] = {
        "labels": {"en": {"language": "en", "value": entry.label}},
        "descriptions": {"en": {"language": "en", "value": entry.description}},
        "aliases": {"en": [{"language": "en", "value": alias} for alias in entry.aliases]},
        "claims": _claims(entry),
        "sitelinks": {"enwiki": {"site": "enwiki", "title": entry.label, "badges": []}},
    }
    asked = {name: value for name, value in item.items() if name in props}
    return {"type": "item", "id": entry.id} | asked


def _ids(world: World) -> dict[str, str]:
    """Give every brand's domain and every other item an id of its own."""
    names = [brand.domain for brand in world.brands]
    names += [f"{n} {item.label}" for n, item in enumerate(world.items)]
    taken: dict[int, str] = {}
    for name in names:
        number = 800_000_000 + zlib.crc32(f"{world.seed} {name}".encode()) % 90_000_000
        while number in taken:
            number += 1
        taken[number] = name
    return {name: f"Q{number}" for number, name in taken.items()}


def _claims(entry: WikidataEntry) -> dict[str, list[dict[str, Any]]]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for name, kind, value, extra in _statements(entry):
        snak = {
            "snaktype": "value",
            "property": name,
            "datavalue": {"value": value, "type": _VALUE_TYPE.get(kind, "string")},
            "datatype": kind,
        }
        number = sum(len(of) for of in claims.values())
        unique = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{entry.id}/{number}")).upper()
        statement = {
            "mainsnak": snak,
            "type": "statement",
            "id": f"{entry.id}${unique}",
            "rank": "normal",
        }
        claims.setdefault(name, []).append(statement | extra)
    return claims


_VALUE_TYPE = {"wikibase-item": "wikibase-entityid"}


def _statements(entry: WikidataEntry) -> Iterator[tuple[str, str, object, dict[str, Any]]]:
    """Yield property, datatype, value and what else the statement says."""
    yield "P31", "wikibase-item", _item(entry.instance_of), {}
    brand = entry.brand
    if brand is None:
        return
    for n, former in enumerate(brand.site.former):
        # One ended, the next deprecated: both kinds of old website are met in the wild.
        old = _ended() if n % 2 == 0 else {"rank": "deprecated"}
        yield "P856", "url", f"http://{former}/", old
    host = f"www.{brand.domain}" if brand.site.home == "www" else brand.domain
    current = {"rank": "preferred"} if brand.site.former else {}
    yield "P856", "url", f"https://{host}/", current
    for name, value in (
        ("P4264", brand.linkedin),
        ("P2003", brand.instagram),
        ("P7085", brand.tiktok),
    ):
        if value:
            yield name, "external-id", value, {}
    if entry.parent_id:
        yield "P749", "wikibase-item", _item(entry.parent_id), {}


def _item(number: str) -> dict[str, Any]:
    return {"entity-type": "item", "numeric-id": int(number[1:]), "id": number}


def _ended() -> dict[str, Any]:
    until = {
        "time": _FORMER_UNTIL,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": 11,
        "calendarmodel": _GREGORIAN,
    }
    snak = {
        "snaktype": "value",
        "property": "P582",
        "datavalue": {"value": until, "type": "time"},
        "datatype": "time",
    }
    return {"qualifiers": {"P582": [snak]}, "qualifiers-order": ["P582"]}
