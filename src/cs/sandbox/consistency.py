"""Contradictions in a world file whose parts are each well formed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from cs.sandbox.shapes import Brand, World, addresses_of

#: Contradictions that are reported.
SHOWN = 20


def contradictions(world: World) -> list[str]:
    """Return the first `SHOWN` contradictions in *world*, each as "at <path>: <problem>"."""
    brands = {brand.name: brand for brand in world.brands}
    addresses: defaultdict[str, set[str]] = defaultdict(set)
    for brand in world.brands:
        addresses[brand.mail_domain or brand.domain].update(addresses_of(brand))
    found = chain(
        _repeated(world),
        chain.from_iterable(
            chain(
                _people(f"$.brands[{n}]", brand, brands),
                _intends(f"$.brands[{n}].intends", brand, addresses),
            )
            for n, brand in enumerate(world.brands)
        ),
    )
    return list(islice(found, SHOWN))


def _repeated(world: World) -> Iterator[str]:
    """Yield what stands twice and may stand once: one address of the world serves each."""
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for n, brand in enumerate(world.brands):
        path = f"$.brands[{n}]"
        named["domain of a site"].append((f"{path}.domain", brand.domain))
        for m, former in enumerate(brand.site.former):
            named["domain of a site"].append((f"{path}.site.former[{m}]", former))
        if brand.linkedin:
            named["company page"].append((f"{path}.linkedin", brand.linkedin))
        for m, person in enumerate(brand.people):
            if person.slug:
                named["profile"].append((f"{path}.people[{m}].slug", person.slug))
    for n, mail in enumerate(world.mail):
        named["mail domain"].append((f"$.mail[{n}]", mail.domain))
        for m, host in enumerate(mail.hosts):
            named["mail host"].append((f"$.mail[{n}].hosts[{m}].name", host.name))
    for what, each in named.items():
        yield from _twice(what, each)


def _twice(what: str, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, name in named:
        if name in first:
            yield f"at {path}: {what} {name!r} is taken by {first[name]}; each may stand once"
        first.setdefault(name, path)


def _people(path: str, brand: Brand, brands: dict[str, Brand]) -> Iterator[str]:
    others = brands.keys() - {brand.name}
    if brand.parent is not None and brand.parent not in others:
        yield f"at {path}.parent: {brand.parent!r} is no other brand of this world"
    taken = Counter(person.mailbox for person in brand.people if person.mailbox)
    for mailbox, times in taken.items():
        if times > 1:
            yield f"at {path}.people: mailbox {mailbox!r} belongs to {times} people, not to one"
    for n, person in enumerate(brand.people):
        if person.before and person.before.brand not in others:
            where = f"{path}.people[{n}].before.brand"
            yield f"at {where}: {person.before.brand!r} is no other brand of this world"


def _intends(path: str, brand: Brand, addresses: dict[str, set[str]]) -> Iterator[str]:
    named = [(f"verified[{n}]", address) for n, address in enumerate(brand.intends.verified)]
    named += [(f"may[{n}]", address) for n, address in enumerate(brand.intends.may)]
    for place, address in named:
        # A sister brand's people at the same mail domain may be found, too.
        at_domain = addresses[brand.mail_domain or brand.domain]
        known = at_domain if place.startswith("may") else addresses_of(brand)
        if address not in known:
            yield f"at {path}.{place}: no person here has {address!r}"
