"""How often the right brand is found, how sure the answer was, and how fast it came.

The questions are made of the bundled directory: each kind of spelling that people use, done to
brands drawn from it (the seed is fixed), and three kinds that must not be answered: brands that
are taken out before they are asked for, pairs of a name and another brand's domain, and
names that no directory has.  Truth is the directory itself, so nothing is said of brands
that are missing.  What is drawn is drawn from the better known half: nobody misspells what
nobody asks for.

    .venv/bin/python bench/resolve.py [--each 400] [--questions FILE.jsonl]

With --questions a file of somebody else's is asked too, one JSON object a line: ``name``,
``domain``, ``kind``, and ``expected`` with ``status`` (found, not_found, ambiguous) and
``domain``; ``contested`` ones are counted apart.
"""

import argparse
import asyncio
import json
import random
import string
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from cs.domain.contact import Query
from cs.domain.names.brand_names import Unacceptable, canonical_domain, clean_brand
from cs.pipeline.brand_choice import SURE
from cs.pipeline.brand_resolution import BrandResolver, Resolution
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand
from cs.sources.brand.brand_search import by_name
from cs.sources.brand.directory import BUNDLED, BundledDirectory

CUTS = (0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.01)
EXAMPLES = 12
UNKNOWN_WORDS = (
    ("Harrow", "Solstrand", "Velvet", "Mossgrove", "Kinfolk", "Nordlys", "Brightwell", "Yuzu"),
    ("& Reed", "Antler", "Lantern", "Pine", "& Daughter", "Moth", "Oat", "Kettle", "Smoke"),
    ("Leather", "Ceramics", "Candle Co", "Apothecary", "Denim", "Bakers", "Swim", "Gin", ""),
)


class Asked(msgspec.Struct, frozen=True):
    """A question; ``right`` are the domains that answer it, none if nobody should."""

    kind: str
    query: Query
    right: frozenset[str] = frozenset()
    contested: bool = False


class Answered(msgspec.Struct, frozen=True):
    asked: Asked
    status: str
    domain: str | None
    score: float

    def is_told_from(self, cut: float) -> bool:
        """Say whether a cut-off of *cut* gives this answer; below ours, who is likeliest."""
        if cut >= SURE or self.status == "matched":
            return self.status == "matched" and self.score >= cut
        return self.domain is not None and self.score >= cut

    @property
    def verdict(self) -> str:
        if self.status == "matched":
            return "right" if self.domain in self.asked.right else "wrong"
        return "missed" if self.asked.right else "right"


def one_letter(name: str, rnd: random.Random) -> str:
    """Make one typo as people do: leave out, double, swap, the next vowel or key."""
    if len(name) < 5:
        return name
    at = rnd.randrange(1, len(name))
    kind = rnd.choice(("out", "double", "swap", "vowel", "key"))
    if kind == "out":
        return name[:at] + name[at + 1 :]
    if kind == "double":
        return name[:at] + name[at] + name[at:]
    if kind == "swap" and at + 1 < len(name):
        return name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if kind == "vowel" and name[at].lower() in "aeiou":
        return name[:at] + rnd.choice("aeiou") + name[at + 1 :]
    return name[:at] + rnd.choice(string.ascii_lowercase) + name[at + 1 :]


def two_letters(name: str, rnd: random.Random) -> str:
    return one_letter(one_letter(name, rnd), rnd)


SPELLINGS: dict[str, Callable[[str, random.Random], str]] = {
    "as written": lambda name, _: name,
    "capitals": lambda name, _: name.upper(),
    "no spaces": lambda name, _: name.replace(" ", ""),
    "no punctuation": lambda name, _: "".join(c for c in name if c.isalnum() or c == " "),
    "legal form": lambda name, rnd: (
        f"{name} {rnd.choice(('Inc.', 'GmbH', 'S.A.', 'Ltd', 'AG'))}"
    ),
    "group words": lambda name, rnd: f"{name} {rnd.choice(('Group', 'Holding', 'Stores'))}",
    "possessive": lambda name, _: f"{name}'s",
    "signs": lambda name, rnd: f"{name}{rnd.choice('™®')}",
    "the": lambda name, _: f"The {name}",
    "and": lambda name, rnd: name.replace("&", rnd.choice(("and", "+", "n"))),
    "one letter wrong": one_letter,
    "two letters wrong": two_letters,
}
#: Of these kinds only names that they change are asked.
CHANGING = {"no spaces", "no punctuation", "and", "one letter wrong", "two letters wrong"}


def spelt(
    entries: Sequence[IndexedBrand], each: int, rnd: random.Random
) -> Iterator[tuple[str, str, IndexedBrand]]:
    for kind, change in SPELLINGS.items():
        drawn = 0
        for entry in rnd.sample(entries, len(entries)):
            written = change(entry.name, rnd)
            if drawn == each:
                break
            if len(written) > 1 and (kind not in CHANGING or written != entry.name):
                drawn += 1
                yield kind, written, entry


def questions(entries: BrandIndex, each: int, rnd: random.Random) -> Iterator[Asked]:
    standing = sorted((e for e in entries if e.domain), key=lambda e: e.weight, reverse=True)
    known = [entry for entry in standing[: len(standing) // 2] if entry.name.isascii()]
    for kind, written, entry in spelt(known, each, rnd):
        yield Asked(kind, Query(brand=written), frozenset(_sites_of_name(entries, entry)))
    for entry in rnd.sample(known, each):
        right = frozenset({str(entry.domain)})
        yield Asked("name and domain", Query(entry.name, entry.domain), right)
        sub = rnd.choice(("shop", "eu", "m", "www2", "careers"))
        if entry.named_at(str(entry.domain)):
            yield Asked("subdomain", Query(None, f"{sub}.{entry.domain}"), right)
    abroad = [(e, site) for e in known for site in e.other_domains if e.sister_site(site)]
    for entry, site in rnd.sample(abroad, min(each, len(abroad))):
        if len(entries.at(site)) == 1:
            yield Asked("another country", Query(None, site), frozenset({str(entry.domain)}))
    for one, other in pairwise(rnd.sample(known, each)):
        if not set(one.domains) & set(other.domains) and one.parent != other.name:
            yield Asked("contradiction", Query(one.name, other.domain))
    for _ in range(each):
        name = " ".join(filter(None, map(rnd.choice, UNKNOWN_WORDS)))
        yield Asked("unknown", Query(brand=name))


def _sites_of_name(entries: BrandIndex, entry: IndexedBrand) -> Iterator[str]:
    """Yield the main sites of whoever is called as *entry*, which is who may be meant."""
    yield from (str(e.domain) for e in entries.named(entry.name) if e.domain)


def taken_away(
    entries: BrandIndex, each: int, rnd: random.Random
) -> Iterator[tuple[str, float]]:
    """Yield how sure somebody else is found for brands that are not there.

    Who shares the name, an alias or a site is no mistake, and is left out with the brand.
    """
    every = list(entries)
    with _Without(BUNDLED, immutable=True) as left:
        for gone in rnd.sample(every, each * 5):
            kin = {e.key for e in entries.named(gone.name)} | {
                e.key for domain in gone.domains for e in entries.at(domain)
            }
            left.gone = kin | {gone.key}
            found = by_name(left, gone.name)
            yield gone.name, max((each.score for each in found), default=0.0)


class _Without(BrandIndex):
    """The index but for the brands with the keys *gone*."""

    gone: Collection[str] = ()

    def _brands(self, query: str, *values: object) -> dict[int, IndexedBrand]:
        found = super()._brands(query, *values)
        return {n: brand for n, brand in found.items() if brand.key not in self.gone}


def from_file(file: Path) -> Iterator[Asked]:
    for line in file.read_text().splitlines():
        row = json.loads(line)
        expected = row["expected"]
        right = {expected["domain"]} if expected["status"] == "found" else set()
        right = {canonical_domain(domain) for domain in right}
        try:
            query = Query(
                row["name"] and clean_brand(row["name"]),
                row["domain"] and canonical_domain(row["domain"]),
            )
        except Unacceptable:  # as no search would accept it (contract B6, B18)
            query = Query()
        yield Asked(row["kind"], query, frozenset(right), row["contested"])


def acceptable(query: Query) -> bool:
    try:
        return query.brand is None or bool(clean_brand(query.brand))
    except Unacceptable:
        return False


async def answers(asked: Iterable[Asked], resolver: BrandResolver) -> list[Answered]:
    told = []
    for each in asked:
        resolution: Resolution = await resolver.resolve(each.query)
        told.append(Answered(each, resolution.status, likeliest(resolution), resolution.score))
    return told


def likeliest(resolution: Resolution) -> str | None:
    """Return the domain that was answered, or would have been with a lower cut-off."""
    if resolution.facts:
        return resolution.facts.domain
    matches = [match for answer in resolution.answers for match in answer.matches]
    return max(matches, key=lambda m: m.score).facts.domain if matches else None


def tell_kinds(told: Sequence[Answered]) -> None:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for each in told:
        kinds[each.asked.kind][each.verdict] += 1
    print(f"\n{'kind':24}{'asked':>8}{'right':>8}{'missed':>8}{'wrong':>8}")
    for kind, counts in [*kinds.items(), ("all", sum(kinds.values(), Counter()))]:
        cells = (counts.total(), *(counts[v] for v in ("right", "missed", "wrong")))
        print(f"{kind:24}" + "".join(f"{cell:8}" for cell in cells))
    for each in [each for each in told if each.verdict == "wrong"][:EXAMPLES]:
        print(f"  {each.asked.kind}: {each.asked.query} -> {each.domain} ({each.score})")


def tell_curve(told: Sequence[Answered]) -> None:
    """Print what each cut-off would answer, and how much of that is wrong."""
    findable = sum(bool(each.asked.right) for each in told)
    print(f"\n{'cut-off':>8}{'answered':>10}{'coverage':>10}{'wrong':>8}{'risk':>9}")
    for cut in CUTS:
        sure = [each for each in told if each.is_told_from(cut)]
        wrong = sum(each.domain not in each.asked.right for each in sure)
        coverage = (len(sure) - wrong) / max(findable, 1)
        mark = "  <- the cut-off" if cut == SURE else ""
        risk = wrong / max(len(sure), 1)
        print(f"{cut:8}{len(sure):10}{coverage:10.1%}{wrong:8}{risk:9.2%}{mark}")


def tell_bins(told: Sequence[Answered]) -> None:
    print(f"\n{'score':>12}{'answers':>9}{'mean':>8}{'right':>8}")
    for low, high in pairwise(BINS):
        inside = [a for a in told if a.status == "matched" and low <= a.score < high]
        if inside:
            mean = sum(a.score for a in inside) / len(inside)
            right = sum(a.verdict == "right" for a in inside) / len(inside)
            print(f"{low:5.2f} - {min(high, 1):4.2f}{len(inside):9}{mean:8.2f}{right:8.2f}")


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reading.add_argument("--each", type=int, default=400, help="questions of each kind")
    reading.add_argument("--questions", type=Path, help="somebody else's, too")
    asked_for = reading.parse_args()
    rnd = random.Random(20_261_123)
    directory = BundledDirectory()
    entries = BrandIndex(BUNDLED, immutable=True)
    print(f"{len(entries)} brands")
    resolver = BrandResolver([directory])
    asked = [q for q in questions(entries, asked_for.each, rnd) if acceptable(q.query)]
    told = asyncio.run(answers(asked, resolver))
    tell_kinds(told)
    tell_curve(told)
    tell_bins(told)
    taken = [score for _, score in taken_away(entries, asked_for.each, rnd)]
    sure = sum(score >= SURE for score in taken)
    print(f"\nof {len(taken)} brands that were taken away {sure} are taken for somebody else")
    names = [q.query.brand for q in asked if q.query.brand]
    each_ms = []
    for name in names:
        began = time.process_time()
        by_name(entries, name)
        each_ms.append((time.process_time() - began) * 1e3)
    each_ms.sort()
    mean, worst = sum(each_ms) / len(each_ms), each_ms[-1]
    p95 = each_ms[len(each_ms) * 95 // 100]
    print(f"candidates by name: {mean:.2f} ms of CPU each, p95 {p95:.2f}, worst {worst:.2f}")
    if asked_for.questions is not None:
        others = asyncio.run(answers(from_file(asked_for.questions), resolver))
        firm = [each for each in others if not each.asked.contested]
        print(f"\n{asked_for.questions.name}: {len(others)}, {len(firm)} of them not contested")
        tell_kinds(firm)
        tell_curve(firm)
        tell_bins(firm)


if __name__ == "__main__":
    main()
