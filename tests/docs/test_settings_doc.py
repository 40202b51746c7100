"""The page of settings has every setting, and no other."""

import re
from pathlib import Path

from cs.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()

#: Tables of the page that list settings: their first column names them.
TABLE = re.compile(r"^\| Setting \| Default \|.*\n\| --- .*\n((?:\|.*\n)+)", re.MULTILINE)


def explained() -> list[str]:
    rows = [row for table in TABLE.findall(PAGE) for row in table.splitlines()]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]


def test_every_setting_is_explained_once_and_no_other() -> None:
    in_sections = {"plugins"}  # `[sources.NAME]`, `[verifiers.NAME]`
    settings = set(Settings.__struct_fields__)

    assert "[sources.NAME]" in PAGE
    assert "[verifiers.NAME]" in PAGE
    assert sorted(settings - in_sections - set(explained())) == []
    assert sorted(set(explained()) - settings) == []
    assert len(explained()) == len(set(explained()))
