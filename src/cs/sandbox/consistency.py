"""Contradictions in a world file whose parts are each well formed."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from cs.sandbox.mail_behaviour import PROVABLE
from cs.sandbox.shapes import Brand, Search, World, WorldMailDomain, addresses_of

#: Contradictions that are reported.
SHOWN = 20


def contradictions(world: World) -> list[str]:
    """Return the first `SHOWN` contradictions in *world*, each as "at <path>: <problem>"."""
    brands = {brand.name: brand for brand in world.brands}
    mail = {each.domain: each for each in world.mail}
    addresses: defaultdict[str, set[str]] = defaultdict(set)
    for brand in world.brands:
        addresses[brand.mail_domain or brand.domain].update(addresses_of(brand))
    found = chain(
        _repeated(world),
        chain.from_iterable(
            chain(
                _people(f"$.brands[{n}]", brand, brands),
                _intends(f"$.brands[{n}].intends", brand, mail, addresses),
            )
            for n, brand in enumerate(world.brands)
        ),
        chain.from_iterable(
            _search(f"$.searches[{n}]", each) for n, each in enumerate(world.searches)
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


def _intends(
    path: str, brand: Brand, mail: dict[str, WorldMailDomain], addresses: dict[str, set[str]]
) -> Iterator[str]:
    intends, domain = brand.intends, brand.mail_domain or brand.domain
    if (intends.outcome == "done") != bool(intends.verified):
        yield f'at {path}: "done" goes with addresses in "verified", all others without'
    named = [(f"verified[{n}]", address) for n, address in enumerate(intends.verified)]
    named += [(f"may[{n}]", address) for n, address in enumerate(intends.may)]
    for place, address in named:
        # A sister brand's people at the same mail domain may be found, too.
        known = addresses[domain] if place.startswith("may") else addresses_of(brand)
        if address not in known:
            yield f"at {path}.{place}: {address!r} is nobody's here"
        elif why := _unprovable(mail.get(domain), address.partition("@")[0]):
            yield f"at {path}.{place}: {address!r} cannot be proved: {why}"


def _unprovable(mail: WorldMailDomain | None, local: str) -> str | None:
    if mail is None:
        return None
    behaviours = [host.behaviour or mail.behaviour for host in mail.hosts] or [mail.behaviour]
    state = mail.mailboxes.get(local, "open")
    if mail.dns != "answers":
        return f"its DNS is {mail.dns!r}"
    if mail.mx == "null":
        return "the domain has a null MX"
    if state != "open":
        return f"the mailbox is {state!r}"
    if not any(isinstance(behaviour, PROVABLE) for behaviour in behaviours):
        return "no server of its domain would say so"
    return None


def _search(path: str, search: Search) -> Iterator[str]:
    if search.brand is None and search.domain is None:
        yield f"at {path}: give a brand, a domain or both"
    if search.outcome == "done":
        yield f'at {path}.outcome: "done" belongs to a brand; describe it under "brands"'
