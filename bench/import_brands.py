"""How long a large company file takes to be imported, and a name in it to be found.

Five million companies are made up, as the People Data Labs file has them: names of two or
three words out of 40,000, so that many are shared, sizes as companies have them.

    .venv/bin/python bench/import_brands.py [--companies 5000000] [--folder DIR]
"""

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from cs.domain.names.brand_forms import asked_forms, close_forms
from cs.sources.brand.brand_index import BrandIndex, IndexedBrand, batches
from cs.sources.brand.imported import company_of

ASKED = 2_000
HEADER = ("country", "id", "linkedin", "name", "size", "domain")
SIZES = (
    ("1-10",) * 80 + ("11-50",) * 12 + ("51-200",) * 5 + ("201-500", "501-1000", "1001-5000")
)


def words(rnd: random.Random) -> list[str]:
    starts = [a + b for a in "bcdfgklmnprstv" for b in ("a", "e", "i", "o", "u", "ar", "en")]
    return ["".join(rnd.choices(starts, k=rnd.choice((2, 2, 3)))) for _ in range(40_000)]


def companies(count: int, rnd: random.Random) -> Iterator[IndexedBrand]:
    every = words(rnd)
    tails = ("", "", " inc.", " gmbh", " ltd", " group", " solutions", " consulting")
    for number in range(count):
        name = " ".join(rnd.choices(every, k=rnd.choice((1, 2, 2)))) + rnd.choice(tails)
        site = f"{name.replace(' ', '').strip('.')}{number % 7 or ''}.com"
        row = ("germany", f"id{number}", "", name, rnd.choice(SIZES), site)
        yield company_of(dict(zip(HEADER, row, strict=True)))


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reading.add_argument("--companies", type=int, default=5_000_000)
    reading.add_argument("--folder", type=Path)
    asked_for = reading.parse_args()
    with tempfile.TemporaryDirectory(dir=asked_for.folder) as folder:
        file = Path(folder) / "brands.sqlite"
        rnd = random.Random(1)
        began, cpu = time.perf_counter(), time.process_time()
        sample: list[IndexedBrand] = []
        with BrandIndex(file, writing=True) as index:
            for batch in batches(companies(asked_for.companies, rnd), 5_000):
                index.put(batch)
                sample += rnd.sample(batch, 1)
        took, spent = time.perf_counter() - began, time.process_time() - cpu
        size = file.stat().st_size / 2**20
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{asked_for.companies} companies in {took:.0f} s ({spent:.0f} s of CPU)")
        print(f"  {size:.0f} MiB on disk, at most {peak:.0f} MiB of memory")
        with BrandIndex(file) as index:
            began = time.process_time()
            index.near("nosuchname")
            print(
                f"names of large companies read in {time.process_time() - began:.2f} s of CPU"
            )
            names = [company.name for company in rnd.choices(sample, k=ASKED)]
            wrong = [name[:3] + name[4:] for name in names]
            for title, asked in (("as written", names), ("a letter left out", wrong)):
                tell(title, index, asked)


def tell(title: str, index: BrandIndex, asked: list[str]) -> None:
    took = []
    for name in asked:
        began = time.perf_counter()
        found = index.with_form(close_forms(name))
        for keys in () if found else asked_forms(name):
            found = found or index.with_form(keys)
        if not found:
            for key in close_forms(name):
                index.near(key)
        took.append((time.perf_counter() - began) * 1e3)
    took.sort()
    mean, p99 = sum(took) / len(took), took[len(took) * 99 // 100]
    print(f"  {title}: {mean:.2f} ms each, p99 {p99:.2f}, worst {took[-1]:.2f} (wall clock)")


if __name__ == "__main__":
    main()
