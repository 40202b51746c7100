"""How often the bundled directory finds the brand it is asked for, and how fast.

Each entry is asked for by its name, by each alias, by its domain, and by name and
domain.  Ground truth is the directory itself, so this measures how distinct the names
are and what the rules do where they are not; it says nothing of brands that are missing.

    .venv/bin/python bench/resolve.py
"""

import asyncio
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from cs.domain.contact import Query
from cs.domain.names.brand_match import likeness
from cs.domain.names.brand_names import Unacceptable, clean_brand
from cs.pipeline.brand_resolver import BrandResolver, Resolution
from cs.sources.brand.directory import BundledDirectory
from cs.sources.brand.entries import DirectoryEntry

Question = tuple[Query, DirectoryEntry]
EXAMPLES = 8


def by_name(entries: Iterable[DirectoryEntry]) -> Iterator[Question]:
    return ((Query(brand=entry.name), entry) for entry in entries)


def by_alias(entries: Iterable[DirectoryEntry]) -> Iterator[Question]:
    return ((Query(brand=alias), entry) for entry in entries for alias in entry.aliases)


def by_domain(entries: Iterable[DirectoryEntry]) -> Iterator[Question]:
    return ((Query(domain=entry.domain), entry) for entry in entries if entry.domain)


def by_both(entries: Iterable[DirectoryEntry]) -> Iterator[Question]:
    return (
        (Query(brand=entry.name, domain=entry.domain), entry)
        for entry in entries
        if entry.domain
    )


def acceptable(query: Query) -> bool:
    try:
        return query.brand is None or bool(clean_brand(query.brand))
    except Unacceptable:
        return False


def verdict(resolution: Resolution, entry: DirectoryEntry) -> str:
    facts = resolution.facts
    if facts is None:
        return resolution.status
    if facts.domain not in {entry.domain, *entry.other_domains}:
        return "wrong"
    return "right" if likeness(facts.name, entry.name) else "same domain, other name"


async def measure(title: str, questions: Iterable[Question], resolver: BrandResolver) -> None:
    asked = [question for question in questions if acceptable(question[0])]
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    began = time.perf_counter()
    for query, entry in asked:
        resolution = await resolver.resolve(query)
        said = verdict(resolution, entry)
        counts[said] += 1
        if said in {"wrong", "same domain, other name"} and resolution.facts:
            wrong.append(f"{query.brand or query.domain} -> {resolution.facts.name}")
    each_us = (time.perf_counter() - began) / len(asked) * 1e6
    print(f"\n{title}: {len(asked)} asked, {each_us:.0f} us each")
    for said, count in counts.most_common():
        print(f"  {said:24} {count:6} {count / len(asked):8.2%}")
    for line in wrong[:: max(1, len(wrong) // EXAMPLES)][:EXAMPLES]:
        print(f"    {line}")


def main() -> None:
    directory = BundledDirectory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    entries = directory.load()
    took = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    python = sys.version.split()[0]
    print(f"{len(entries)} entries read in {took:.2f} s, {grown:.0f} MiB, Python {python}")
    resolver = BrandResolver([directory])
    for title, questions in (
        ("by name", by_name(entries)),
        ("by alias", by_alias(entries)),
        ("by domain", by_domain(entries)),
        ("by name and domain", by_both(entries)),
    ):
        asyncio.run(measure(title, questions, resolver))


if __name__ == "__main__":
    main()
