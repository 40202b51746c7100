"""A new plug-in's package: its files, written from the templates next to this module.

A template is a file of `templates`, its name without ``.template``; `string.Template` fills in
what is called otherwise in each plug-in.
"""

import re
from collections.abc import Mapping
from enum import Enum
from importlib.resources import files
from pathlib import PurePosixPath
from string import Template
from typing import NamedTuple

from cs.domain.stages.table import OWN_STAGES, TAKEN
from cs.domain.stages.work import ExtraInput, FactsFound
from cs.plugins.entry_points import Group

#: Letters and digits in words with - between them: the settings file and variables have it too.
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
NAME_MAX = 40


class BadName(ValueError):
    """No plug-in may be called so; the message says what may be."""


class KindRow(NamedTuple):
    """The differences between kinds of packages.

    Attributes:
        group: Where it is found.
        part: The module of the package that holds it.
        folders: The folders of its templates, ``{name}`` in them is the plug-in's.
        port: Where its service is played, on loopback.
    """

    group: Group
    part: str
    folders: tuple[str, ...]
    port: int


class PackageKind(Enum):
    """The plug-ins that a package may bring."""

    PEOPLE_SOURCE = KindRow(Group.PEOPLE_SOURCES, "source", ("people_source",), 8901)
    BRAND_SOURCE = KindRow(Group.BRAND_SOURCES, "source", ("brand_source",), 8902)
    VERIFIER = KindRow(Group.VERIFIERS, "verifier", ("verifier",), 8903)
    STAGE = KindRow(Group.STAGES, "stage", ("stage", "stage_{name}"), 8904)
    EXTRA_STAGE = KindRow(Group.EXTRA_STAGES, "stage", ("stage", "extra_stage"), 8905)


def new_package(kind: PackageKind, name: str) -> tuple[str, dict[PurePosixPath, str]]:
    """Return the folder's name and the files of a new package that brings *name*.

    Args:
        kind: What it is.
        name: Of its entry point; of a stage, that of the stage whose work it does.

    Raises:
        BadName: *name* is none.
    """
    if len(name) > NAME_MAX or not NAME.fullmatch(name):
        raise BadName(
            f"{name!r}: a name is up to {NAME_MAX} small letters and digits, "
            "words with - between them, like acme or acme-people"
        )
    row = kind.value
    if row.group is Group.EXTRA_STAGES and name in TAKEN:
        raise BadName(f"{name!r}: a topic or a consumer group has that name")
    words = _words(kind, name)
    templates: dict[str, Template] = {}
    for folder in ("package", *(each.format(name=words["word"]) for each in row.folders)):
        templates |= _templates(folder)
    parts = [templates.pop(part).template for part in ("play_head", "play_foot")]
    templates["play.py"] = Template(templates["play.py"].template.join(parts))
    package = PurePosixPath(words["module"])
    places = {
        "gitignore": PurePosixPath(".gitignore"),
        "__init__.py": package / "__init__.py",
        f"{row.part}.py": package / f"{row.part}.py",
        "play.py": package / "play.py",
        "row.py": package / "row.py",
        "test.py": PurePosixPath("tests", f"test_{words['word']}.py"),
    }
    made = {
        places.get(each, PurePosixPath(each)): template.substitute(words)
        for each, template in sorted(templates.items())
    }
    return words["distribution"], made | {package / "py.typed": ""}


def _words(kind: PackageKind, name: str) -> dict[str, str]:
    """Return what stands for each word of a template."""
    group, part, _, port = kind.value
    word = name.replace("-", "_")
    # With its kind behind it: alone, `none` or `sighting` would be a name that Python or the
    # module has already.
    class_name = "".join(each.capitalize() for each in name.removesuffix(f"-{part}").split("-"))
    extra = kind is PackageKind.EXTRA_STAGE
    shapes: tuple[type, type] = (ExtraInput, FactsFound)
    if not extra and (row := OWN_STAGES.get(name)) is not None:
        shapes = (row.input, row.result)
    return {
        "Input": shapes[0].__name__,
        "Result": shapes[1].__name__,
        "Shapes": ", ".join(sorted(shape.__name__ for shape in shapes)),
        "name": name,
        "word": word,
        "Class": class_name + part.capitalize(),
        "VARIABLE": word.upper(),
        "distribution": f"cs-{part}-{name}",
        "module": f"cs_{part}_{word}",
        "part": part,
        "kind": group.kind,
        "group": group.value,
        "entry": "row:ROW" if extra else f"{part}:from_context",
        "port": str(port),
    }


def _templates(folder: str) -> Mapping[str, Template]:
    """Return the templates in *folder* by the name of the file that they become."""
    found = files("cs.plugins").joinpath("templates", folder).iterdir()
    return {
        each.name.removesuffix(".template"): Template(each.read_text("utf-8"))
        for each in found
        if each.name.endswith(".template")
    }
