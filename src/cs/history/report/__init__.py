"""``cs report``: each figure is a numbered file of SQL here, over the tables of `tables.sql`.

A file begins with the title of its figure and how it counts; its name is that of the view in
an export and of the figure in JSON.  All of them may use what `macros.sql` makes.
"""

from collections.abc import Sequence
from importlib.resources import files

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One figure.

    Attributes:
        name: Of its view, and in JSON.
        title: For people.
        about: How it counts.
        sql: Selects its rows of the tables.
    """

    name: str
    title: str
    about: str
    sql: str


def _texts() -> dict[str, str]:
    found = (each for each in files(__package__).iterdir() if each.name.endswith(".sql"))
    return {each.name: each.read_text("utf-8") for each in sorted(found, key=lambda f: f.name)}


def _figure(name: str, text: str) -> Figure:
    title, about, sql = (part.removeprefix("-- ") for part in text.split("\n", 2))
    return Figure(name.removesuffix(".sql").partition("_")[2], title, about, sql.strip())


#: Statements that make the macros of figures.
MACROS: Sequence[str] = [each.strip() for each in _texts()["macros.sql"].split(";\n") if each]
#: In the order of a report.
FIGURES: Sequence[Figure] = [
    _figure(*each) for each in _texts().items() if each[0][0].isdigit()
]
