"""One row says what a stage is: the rows are complete, and fit the shapes they name."""

from typing import get_args

import pytest

from cs.assembly.plugins import build_stage
from cs.domain.brand.events import BrandEvent
from cs.domain.stages.table import STAGES, StageRow
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    ExtraInput,
    FactsFound,
    Failed,
    StageInput,
)
from cs.settings import Settings
from harness.outside import tools

ROWS = pytest.mark.parametrize("row", STAGES.values(), ids=STAGES)


def test_every_input_is_of_one_stage() -> None:
    of_own = [row.input for row in STAGES.values()]

    assert [*of_own, ExtraInput] == list(get_args(StageInput))


def test_every_finding_is_of_one_stage_or_of_any() -> None:
    of_one = [finding for row in STAGES.values() for finding in (*row.progress, row.result)]

    assert len(of_one) == len(set(of_one))
    assert {*of_one, FactsFound, Alive, Failed} == set(get_args(AnyFinding))


def test_no_event_closes_the_work_of_two_stages() -> None:
    closing = [row.closed_by for row in STAGES.values()]

    assert len(closing) == len(set(closing))
    assert set(closing) < set(get_args(BrandEvent))


@ROWS
def test_a_stage_is_found_by_its_name(row: StageRow) -> None:
    assert row.topic == f"cs.{row.name}.v1"
    assert build_stage(row.name, tools()).name == row.name


@ROWS
def test_an_item_is_a_field_of_the_input_and_of_the_event_that_closes(row: StageRow) -> None:
    for shape in (row.input, row.closed_by) if row.item else ():
        assert row.item in shape.__struct_fields__


@ROWS
def test_whom_it_asks_is_a_setting(row: StageRow) -> None:
    assert set(row.asks) <= set(Settings.__struct_fields__)
