"""Profile a benchmark and draw where its processor time went, a flame graph as one SVG file.

``python dev/flame_graph.py NAME [ARGUMENT ...]`` runs `bench/NAME.py` with the arguments and
every Python process that it starts, and writes ``build/profile-NAME.svg``: width is processor
time, what stands on a bar was called by it, and the mouse tells its share.  One part for each
process, the busiest first.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from html import escape
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).resolve().parent.parent
WIDTH, BAR, LETTER = 1400, 16, 6.6
#: Narrower bars are left out, pixels.
NARROWEST = 0.4

Stacks = Counter[tuple[str, ...]]


class Node:
    """A function as it was called in one place; *samples* of it and of what it called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.samples = 0
        self.calls: dict[str, Node] = {}

    def add(self, stack: tuple[str, ...], samples: int) -> None:
        self.samples += samples
        if stack:
            self.calls.setdefault(stack[0], Node(stack[0])).add(stack[1:], samples)

    @property
    def height(self) -> int:
        return 1 + max((each.height for each in self.calls.values()), default=0)


def read(file: Path) -> Stacks:
    found: Stacks = Counter()
    for line in file.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        found[tuple(stack.split(";"))] += int(samples)
    return found


def drawn(title: str, processes: list[Node]) -> str:
    """Return the SVG of *processes*, one above the other."""
    parts, y = [], 2 * BAR
    parts.append(f'<text x="4" y="{BAR}" font-weight="bold">{escape(title)}</text>')
    for process in processes:
        y += process.height * BAR
        parts += _bars(process, 0.0, y, float(WIDTH), process.samples)
        y += 2 * BAR
    style = "text{font:11px monospace;pointer-events:none}rect:hover{stroke:#000}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}">'
        f"<style>{style}</style>{''.join(parts)}</svg>\n"
    )


def _bars(node: Node, x: float, y: int, width: float, whole: int) -> list[str]:
    """Return *node* with its lower edge at *y*, and what it called on top of it."""
    if width < NARROWEST:
        return []
    hue = crc32(node.name.rpartition(".")[0].encode()) % 60  # one colour for each module
    shown = node.name[-int(width / LETTER) :] if width > 3 * LETTER else ""
    parts = [
        (
            f'<rect x="{x:.1f}" y="{y - BAR}" width="{width:.1f}" height="{BAR - 1}" '
            f'fill="hsl({hue},85%,68%)"><title>{escape(node.name)}: '
            f"{node.samples / whole:.1%} of {whole} samples</title></rect>"
        ),
        f'<text x="{x + 2:.1f}" y="{y - 4}">{escape(shown)}</text>',
    ]
    for each in sorted(node.calls.values(), key=lambda called: called.name):
        share = width * each.samples / node.samples
        parts += _bars(each, x, y - BAR, share, whole)
        x += share
    return parts


def profiled(command: list[str], folder: Path) -> tuple[int, list[Node]]:
    """Run *command*; return how it ended and its processes, the busiest first."""
    paths = [str(ROOT / "dev" / "profiling"), str(ROOT / "tests")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "FLAME_GRAPH_TO": str(folder),
    }
    ended = subprocess.run(command, env=environment, check=False).returncode
    processes = []
    for file in folder.glob("*.stacks"):
        process = Node(f"process {file.stem}")
        for stack, samples in read(file).items():
            process.add(stack, samples)
        if process.samples:
            processes.append(process)
    return ended, sorted(processes, key=lambda each: -each.samples)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="of a file in bench/, without .py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    bench = ROOT / "bench" / f"{asked.name}.py"
    if not bench.is_file():
        names = ", ".join(sorted(each.stem for each in (ROOT / "bench").glob("*.py")))
        print(f"there is no bench {asked.name!r}; there are {names}")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(bench), *asked.arguments]
        ended, processes = profiled(command, Path(folder))
    if not processes:
        print("nothing was sampled: it took no processor time, or was killed")
        return ended or 1
    out = ROOT / "build" / f"profile-{asked.name}.svg"
    out.parent.mkdir(exist_ok=True)
    out.write_text(drawn(f"{asked.name}: processor time", processes))
    print(f"{out.relative_to(ROOT)}: {sum(each.samples for each in processes)} samples")
    return ended


if __name__ == "__main__":
    sys.exit(main())
