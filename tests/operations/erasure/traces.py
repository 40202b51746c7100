"""Looking for somebody in every byte of a folder."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec


def written(text: str) -> Iterator[bytes]:
    """Yield how *text* may stand in a file: as text, in JSON, in base64 wherever it begins."""
    for word in {text, text.lower(), text.upper()}:
        plain = word.encode()
        yield plain
        yield word.encode("utf-16-le")
        yield word.encode("utf-16-be")
        yield msgspec.json.encode(word)[1:-1]
        yield plain.hex().encode()
        for shift in range(3):
            # A letter has 6 bits: the first and the last may depend on their neighbours.  All
            # others are looked for: four alone stand in 50 kB of base64 by chance now and then.
            first, end = -(-8 * shift // 6), 8 * (shift + len(plain)) // 6
            yield b64encode(b"\0" * shift + plain)[first:end]


def contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def traces(folder: Path, texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return (file, text) of each of *texts* that stands in a file of *folder*."""
    files = contents(folder)
    return [
        (name, text)
        for text in texts
        for name, data in files.items()
        if any(form in data for form in written(text))
    ]
