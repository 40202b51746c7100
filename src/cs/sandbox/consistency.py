"""What a world file may not say although each part of it is well formed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from cs.sandbox.folding import fold
from cs.sandbox.mail_behaviour import PROVABLE, Down, Greylisting, Silent, Slow
from cs.sandbox.shapes import Brand, NoFailure, Search, World, WorldMailDomain, addresses_of

#: Contradictions that are told, and addresses that one of them lists.
SHOWN = 20


def contradictions(world: World) -> list[str]:
    """Return the first `SHOWN` contradictions in *world*, each as "at <path>: <what, why>"."""
    names = _Names(world)
    found = chain(
        _twice("domain of a site", _sites(world)),
        _twice("mail domain", ((f"$.mail[{n}]", m.domain) for n, m in enumerate(world.mail))),
        _twice("mail host", _mail_hosts(world)),
        _twice("profile", _slugs(world)),
        _twice(
            "company page",
            (
                (f"$.brands[{n}].linkedin", brand.linkedin)
                for n, brand in enumerate(world.brands)
                if brand.linkedin
            ),
        ),
        (text for n, mail in enumerate(world.mail) for text in _mail(f"$.mail[{n}]", mail)),
        (
            text
            for n, brand in enumerate(world.brands)
            for text in _brand(f"$.brands[{n}]", brand, names)
        ),
        (
            text
            for n, search in enumerate(world.searches)
            for text in _search(f"$.searches[{n}]", search, names)
        ),
    )
    return list(islice(found, SHOWN))


class _Names:
    """A world by its names, made once: each brand and each search looks them up."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.brands = {brand.name: brand for brand in reversed(world.brands)}
        self.folded = Counter(fold(brand.name) for brand in world.brands)
        self.called: Counter[str | None] = Counter(
            name for brand in world.brands for name in {brand.name, *brand.aliases}
        )
        self.domains = {brand.domain for brand in world.brands}
        self.mail = {mail.domain: mail for mail in reversed(world.mail)}
        self.addresses: defaultdict[str, set[str]] = defaultdict(set)
        for brand in world.brands:
            self.addresses[brand.mail_domain or brand.domain].update(addresses_of(brand))


def _twice(what: str, named: Iterable[tuple[str, str]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, name in named:
        if name in first:
            yield f"at {path}: {what} {name!r} is taken by {first[name]}; each may stand once"
        first.setdefault(name, path)


def _sites(world: World) -> Iterator[tuple[str, str]]:
    for n, brand in enumerate(world.brands):
        yield f"$.brands[{n}].domain", brand.domain
        for m, former in enumerate(brand.site.former):
            yield f"$.brands[{n}].site.former[{m}]", former


def _mail_hosts(world: World) -> Iterator[tuple[str, str]]:
    for n, mail in enumerate(world.mail):
        for m, host in enumerate(mail.hosts):
            yield f"$.mail[{n}].hosts[{m}].name", host.name


def _slugs(world: World) -> Iterator[tuple[str, str]]:
    for n, brand in enumerate(world.brands):
        for m, person in enumerate(brand.people):
            if person.slug:
                yield f"$.brands[{n}].people[{m}].slug", person.slug


def _mail(path: str, mail: WorldMailDomain) -> Iterator[str]:
    if mail.hosts and mail.mx != "records":
        yield f'at {path}.hosts: hosts stand only with "mx": "records", not {mail.mx!r}'


def _brand(path: str, brand: Brand, names: _Names) -> Iterator[str]:
    if brand.parent is not None:
        parent = names.brands.get(brand.parent)
        if parent is None or parent is brand:
            yield f"at {path}.parent: {brand.parent!r} is no other brand of this world"
        elif "wikidata" in brand.known_by and "wikidata" not in parent.known_by:
            yield f"at {path}.parent: Wikidata knows {brand.name!r} but not its parent"
    taken = Counter(person.mailbox for person in brand.people if person.mailbox)
    for mailbox, times in taken.items():
        if times > 1:
            yield f"at {path}.people: mailbox {mailbox!r} belongs to {times} people, not to one"
    for n, person in enumerate(brand.people):
        before = person.before
        if before and (before.brand == brand.name or before.brand not in names.brands):
            yield (
                f"at {path}.people[{n}].before.brand: "
                f"{before.brand!r} is no other brand of this world"
            )
    yield from _asked_by(f"{path}.intends.asked_by", brand, names)
    yield from _intends(f"{path}.intends", brand, names)


def _asked_by(path: str, brand: Brand, names: _Names) -> Iterator[str]:
    asked = brand.intends.asked_by
    found = brand.intends.outcome != "no_linkedin"
    same = names.folded[fold(brand.name)]
    if found and "brand" in asked and same > 1:
        yield f'at {path}: "brand" cannot hold, {same} brands are called {brand.name!r}'
    if found and "brand" in asked and not {"wikidata", "searxng"} & set(brand.known_by):
        yield f'at {path}: "brand" needs "wikidata" or "searxng" in known_by'
    seen = "website" in brand.known_by and brand.site.state == "up"
    if found and "domain" in asked and not seen:
        yield f'at {path}: "domain" needs a site that is up and "website" in known_by'


def _intends(path: str, brand: Brand, names: _Names) -> Iterator[str]:
    intends = brand.intends
    domain = brand.mail_domain or brand.domain
    mail = names.mail.get(domain)
    owned = addresses_of(brand).keys()
    # A sister brand's people at the same mail domain may turn up, too.
    near_by = names.addresses[domain]
    named = [(f"verified[{n}]", address) for n, address in enumerate(intends.verified)]
    named += [(f"may[{n}]", address) for n, address in enumerate(intends.may)]
    yield from _twice("address", ((f"{path}.{place}", address) for place, address in named))
    for place, address in named:
        known = near_by if place.startswith("may") else owned
        if address not in known:
            yield (
                f"at {path}.{place}: {address!r} is nobody's here; "
                f"allowed: {_listed(known) or 'nothing, nobody has a mailbox'}"
            )
        elif mail and (why := _unprovable(mail, address.partition("@")[0])):
            yield f"at {path}.{place}: {address!r} cannot be proved: {why}"
    yield from _intended_outcome(path, brand, names)


def _intended_outcome(path: str, brand: Brand, names: _Names) -> Iterator[str]:
    intends = brand.intends
    domain = brand.mail_domain or brand.domain
    mail = names.mail.get(domain)
    if intends.may and not intends.verified:
        yield f'at {path}.may: goes only with "verified", or the outcome would be open'
    if (intends.outcome == "done") != bool(intends.verified):
        yield f'at {path}: "done" goes with addresses in "verified", all others without'
    match intends.outcome:
        case "no_emails" | "timeout" | "error" if not brand.people:
            yield f"at {path}.outcome: {intends.outcome!r} needs people"
        case "scrape_error" if not _search_fails(brand, names.world):
            yield f'at {path}.outcome: "scrape_error" needs a failure of searxng'
        case "error" if mail is None or mail.dns == "answers":
            yield f'at {path}.outcome: "error" needs a mail domain whose dns does not answer'
        case "timeout" if mail is None or not isinstance(
            mail.behaviour, (Greylisting, Silent, Slow)
        ):
            yield f'at {path}.outcome: "timeout" needs greylisting, slow or silent mail'
        case _:
            pass
    parent = names.brands.get(brand.parent or "")
    near = {brand.domain, parent.domain if parent else brand.domain}
    if intends.outcome == "done" and domain not in near:
        yield f"at {path}: nobody can find out that mail is at {domain!r}; allowed: {near}"


def _listed(addresses: Collection[str]) -> str:
    more = f" and {len(addresses) - SHOWN} more" if len(addresses) > SHOWN else ""
    return ", ".join(sorted(addresses)[:SHOWN]) + more


def _search_fails(brand: Brand, world: World) -> bool:
    search = brand.trouble.searxng or world.services.searxng
    return not isinstance(search.failure, NoFailure)


def _unprovable(mail: WorldMailDomain, local: str) -> str | None:
    state = mail.mailboxes.get(local, "open")
    behaviours = [host.behaviour or mail.behaviour for host in mail.hosts] or [mail.behaviour]
    if mail.dns != "answers":
        return f"its DNS is {mail.dns!r}"
    if mail.mx == "null":
        return "the domain has a null MX"
    if state != "open":
        return f"the mailbox is {state!r}"
    if not any(isinstance(behaviour, PROVABLE) for behaviour in behaviours):
        kinds = {type(behaviour).__name__ for behaviour in behaviours if behaviour != Down()}
        return f"no server of its domain would tell ({', '.join(sorted(kinds)) or 'all down'})"
    return None


def _search(path: str, search: Search, names: _Names) -> Iterator[str]:
    if search.brand is None and search.domain is None:
        yield f"at {path}: give a brand, a domain or both"
        return
    if search.outcome == "done":
        yield f'at {path}.outcome: "done" belongs to a brand; describe it under "brands"'
    named = names.called[search.brand]
    if search.outcome == "no_linkedin" and (search.domain in names.domains or named == 1):
        yield f'at {path}.outcome: "no_linkedin", but this world has exactly that brand'
