"""The figures of a report: the files of SQL in this folder, each with a title."""

from collections.abc import Sequence
from importlib.resources import files

import msgspec

#: What the files use besides the tables: whether a time is in the period, and costs in US
#: dollars, by the given price of a question where there is one.
MACROS = (
    """
CREATE MACRO in_period(happened_at) AS
    happened_at >= coalesce((SELECT since FROM export), '-infinity'::TIMESTAMP)
    AND happened_at < coalesce((SELECT until FROM export), 'infinity'::TIMESTAMP)
""",
    """
CREATE VIEW priced_costs AS
SELECT c.*, coalesce(p.usd * c.asked, c.micros / 1e6) AS usd
FROM costs c LEFT JOIN prices p USING (name)
""",
)


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


def _figure(name: str, text: str) -> Figure:
    title, about, sql = text.split("\n", 2)
    return Figure(
        name.removesuffix(".sql").partition("_")[2],
        title.removeprefix("-- "),
        about.removeprefix("-- "),
        sql.strip(),
    )


#: In the order of a report: the files of this folder by name.
FIGURES: Sequence[Figure] = tuple(
    _figure(each.name, each.read_text(encoding="utf-8"))
    for each in sorted(files(__package__).iterdir(), key=lambda each: each.name)
    if each.name.endswith(".sql")
)
