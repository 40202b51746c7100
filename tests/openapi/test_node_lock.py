"""The Node tools are pinned, each with its hash, and by no registry's address."""

import json
import re
from typing import Any

import pytest

from openapi.node_tools import DEV

NAMED: dict[str, Any] = json.loads((DEV / "node" / "package.json").read_bytes())
LOCK: dict[str, Any] = json.loads((DEV / "node" / "package-lock.json").read_bytes())
PACKAGES: dict[str, Any] = {name: package for name, package in LOCK["packages"].items() if name}


def test_every_tool_is_named_with_one_version() -> None:
    assert all(
        re.fullmatch(r"\d+\.\d+\.\d+", version) for version in NAMED["devDependencies"].values()
    )


@pytest.mark.parametrize("tool", NAMED["devDependencies"])
def test_the_lock_has_the_version_that_is_named(tool: str) -> None:
    assert PACKAGES[f"node_modules/{tool}"]["version"] == NAMED["devDependencies"][tool]
    assert LOCK["packages"][""]["devDependencies"] == NAMED["devDependencies"]


def test_every_package_of_the_lock_has_its_hash() -> None:
    assert [name for name, package in PACKAGES.items() if "integrity" not in package] == []


def test_no_package_says_where_it_comes_from() -> None:
    text = json.dumps(
        {name: {**package, "funding": None} for name, package in PACKAGES.items()}
    )

    assert len(PACKAGES) > 50
    assert "resolved" not in text
    assert "://" not in text


def test_every_licence_allows_what_we_do() -> None:
    # `reserved` names its licence, MIT, in the form of long ago, which locks leave out.
    licences = {package.get("license", name) for name, package in PACKAGES.items()}

    assert [each for each in licences if "GPL" in each] == []
    assert {each for each in licences if "/" in each} == {"node_modules/reserved"}
