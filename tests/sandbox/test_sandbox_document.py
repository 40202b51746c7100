import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from cs.sandbox import shapes
from cs.sandbox.shapes import MailboxState
from cs.sandbox.world import listing, load

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
KINDS, FAILURES = (
    get_args(msgspec.structs.fields(shape)[0].type)
    for shape in (shapes.Behaviour, shapes.Failure)
)


def test_world_in_the_document_loads(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    file = tmp_path / "world.json"
    file.write_text(example[1])

    (acme,) = listing(load(file))

    assert acme.verified == ("zoe.ruiz@acme.test",)


@pytest.mark.parametrize("name", [*KINDS, *FAILURES, *get_args(MailboxState)])
def test_document_names_every_behaviour_failure_and_state(name: str) -> None:
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    "shape",
    [
        shapes.World,
        shapes.Brand,
        shapes.Site,
        shapes.Person,
        shapes.IntendedResult,
        shapes.WorldMailDomain,
    ],
)
def test_document_names_every_field(shape: type[Any]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(shape)} - {"about"}

    assert {
        name for name in fields if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE
    } == set()


def test_document_counts_the_bundled_brands() -> None:
    assert f"has {len(load().brands)} brands" in PAGE
