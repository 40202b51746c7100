"""A made-up year: how the bundled world changes while the service is used.

People change jobs, brands come up, mail servers change their ways, and one week goes badly.
What callers and the operator do meanwhile is in `cs.cli.demo`.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from cs.sandbox.page_index import profile_slug
from cs.sandbox.shapes import (
    Behaviour,
    Brand,
    Failure,
    Person,
    Searxng,
    Service,
    Services,
    World,
    WorldMailDomain,
)
from cs.sandbox.world import load

#: Its first instant, a Monday.
BEGINS = datetime(2025, 11, 3, tzinfo=UTC)
WEEK = timedelta(weeks=1)
WEEKS = 52
#: The week in which the service is updated, and its ranking counts one more kind of role.
UPDATE = 30
#: The week from which on the operator also pays providers for people and for verdicts.
PAID = 22

#: Brands of the first week; others of the bundled world appear later, or never.
_FIRST = (
    "Veltrana",
    "Ossowen Skincare",
    "Kivandra",
    "Ivorene",
    "Kestrelle",
    "Vantorre",
    "Auberlin",
    "Pemberlux",
    "Orvanta",
    "Maison Aurivel",
    "Petalune",
    "Brontello",
    "Miruvane",
    "Okendra",
    "Grimsole",
)

_Change = Callable[[World], World]


class Chapter(msgspec.Struct, frozen=True):
    """From one change of the world to the next.

    Attributes:
        week: It begins with this week, from 0.
        what: The change, for readers of the year's story.
        changes: Of the world before it.
    """

    week: int
    what: str
    changes: tuple[_Change, ...] = ()


def worlds() -> Iterator[tuple[Chapter, World]]:
    """Yield every chapter of the year, in order, with the world as it is in it."""
    world = _with_brands(replace(load(None), brands=(), mail=(), searches=()), _FIRST)
    for chapter in CHAPTERS:
        for change in chapter.changes:
            world = change(world)
        yield chapter, world


def _comes_up(*names: str) -> _Change:
    return lambda world: _with_brands(world, names)


def _with_brands(world: World, names: Sequence[str]) -> World:
    bundled = load(None)
    new = [
        replace(
            brand,
            people=tuple(
                replace(person, slug=profile_slug(bundled.seed, brand, person))
                for person in brand.people
            ),
        )
        for brand in bundled.brands
        if brand.name in names
    ]
    domains = {brand.domain for brand in new} | {brand.mail_domain for brand in new}
    mail = [each for each in bundled.mail if each.domain in domains]
    return replace(world, brands=(*world.brands, *new), mail=(*world.mail, *mail))


def _joins(name: str, brand: str, headline: str, mailbox: str) -> _Change:
    return _employs(brand, Person(name=name, headline=headline, mailbox=mailbox))


def _leaves(name: str) -> _Change:
    return _staff(lambda brand: [p for p in brand.people if p.name != name])


def _moves(name: str, brand: str, headline: str, mailbox: str) -> _Change:
    """Return the change of *name*, who leaves for *brand* with the same profile."""

    def change(world: World) -> World:
        person = next(p for each in world.brands for p in each.people if p.name == name)
        moved = replace(person, headline=headline, mailbox=mailbox)
        return _employs(brand, moved)(_leaves(name)(world))

    return change


def _is_promoted(name: str, headline: str) -> _Change:
    return _staff(
        lambda brand: [
            replace(p, headline=headline) if p.name == name else p for p in brand.people
        ]
    )


def _employs(name: str, person: Person) -> _Change:
    return _staff(lambda brand: [*brand.people, *([person] if brand.name == name else [])])


def _staff(people: Callable[[Brand], Sequence[Person]]) -> _Change:
    """Return the change of the people of every brand to what *people* makes of it."""
    return lambda world: replace(
        world,
        brands=tuple(replace(brand, people=tuple(people(brand))) for brand in world.brands),
    )


def _mail_is(domain: str, behaviour: Behaviour) -> _Change:
    def change(world: World) -> World:
        others = tuple(each for each in world.mail if each.domain != domain)
        return replace(
            world, mail=(*others, WorldMailDomain(domain=domain, behaviour=behaviour))
        )

    return change


def _services_are(services: Services) -> _Change:
    return lambda world: replace(world, services=services)


CHAPTERS = (
    Chapter(0, "the service begins, with fifteen brands to be found"),
    Chapter(5, "Castellune and Norrvik come up", (_comes_up("Castellune", "Norrvik"),)),
    Chapter(
        9,
        "Veltrana's head of influencer marketing leaves for Kivandra, and has a successor",
        (
            _moves(
                "Amara Okafor",
                "Kivandra",
                "Director of Influencer Marketing at Kivandra",
                "amara",
            ),
            _joins(
                "Jonah Whitlock",
                "Veltrana",
                "Head of Influencer Marketing at Veltrana",
                "jonah.whitlock",
            ),
        ),
    ),
    Chapter(
        13,
        "a promotion at Veltrana; Kivandra's social media manager leaves for Norrvik",
        (
            _is_promoted("Renée Dubois", "Head of Social Media at Veltrana"),
            _moves("Zoë Ashworth", "Norrvik", "Senior Social Media Manager at Norrvik", "zoe"),
        ),
    ),
    Chapter(
        17,
        "Ivorene's mail server accepts every address from now on",
        (_mail_is("ivorene.test", Behaviour(kind="catch_all")),),
    ),
    Chapter(
        19,
        "a bad week: web search limits us, Wikidata is down",
        (
            _services_are(
                Services(
                    wikidata=Service(failure=Failure(kind="status", code=503)),
                    searxng=Searxng(
                        failure=Failure(kind="status", code=429, retry_after_s=600)
                    ),
                )
            ),
        ),
    ),
    Chapter(20, "both are back", (_services_are(Services()),)),
    Chapter(PAID, "the operator buys keys: providers that charge are asked from now on"),
    Chapter(
        24,
        "Marrowby, Corvelune and Nuvarro come up",
        (_comes_up("Marrowby", "Corvelune", "Nuvarro"),),
    ),
    Chapter(
        27,
        "Kestrelle's mail server greylists from now on",
        (_mail_is("kestrelle.example", Behaviour(kind="greylisting", hint_s=2)),),
    ),
    Chapter(UPDATE, "an update of the service: brand marketing counts as a role now"),
    Chapter(
        33,
        "Vantorre's mail server refuses us",
        (_mail_is("vantorre.test", Behaviour(kind="refuses_us")),),
    ),
    Chapter(
        37,
        "Vantorre's vice president leaves for Auberlin, a director is promoted",
        (
            _moves(
                "Ayodele Adeyemi",
                "Auberlin",
                "Chief Marketing Officer, Influencer and Social at Auberlin",
                "ayodele.adeyemi",
            ),
            _is_promoted("Brooke Castellano", "VP, Influencer Marketing at Vantorre"),
        ),
    ),
    Chapter(
        41,
        "Vantorre's mail server takes our questions again; a move to Ossowen Skincare",
        (
            _mail_is("vantorre.test", Behaviour()),
            _moves("Giulia Ferraro", "Ossowen Skincare", "Head of Social Media", "gferraro"),
        ),
    ),
    Chapter(45, "Auberlin's head of influencer marketing leaves", (_leaves("Lena Hofmann"),)),
)
