"""A Dockerfile as instructions: what our own rules are about."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec


class Instruction(msgspec.Struct, frozen=True):
    name: str  # in capitals
    words: str  # continued lines joined, comments left out

    @property
    def commands(self) -> list[str]:
        """The commands of a RUN, apart from each other."""
        return [each.strip() for each in self.words.split("&&")]


class Stage(msgspec.Struct, frozen=True):
    image: str
    name: str | None
    instructions: list[Instruction]

    def all(self, name: str) -> list[Instruction]:
        return [each for each in self.instructions if each.name == name]

    def last(self, name: str) -> str:
        return self.all(name)[-1].words


def stages(path: Path) -> list[Stage]:
    """Return the stages of the file in order; there is nothing before the first FROM."""
    found: list[Stage] = []
    for instruction in _instructions(path.read_text()):
        if instruction.name == "FROM":
            image, _, name = instruction.words.partition(" AS ")
            found.append(Stage(image, name or None, []))
        else:
            found[-1].instructions.append(instruction)
    return found


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, words = line.partition(" ")
        yield Instruction(name.upper(), re.sub(r"\s+", " ", words).strip())
