"""What generations of views are called, and what one has of another."""

from cs.projections.catalogue import projections
from cs.projections.generation import copy_plan, generation

#: Today's versions as builds called them that knew nothing of copies.
WITHOUT_COPIES = "_".join([*(f"{each.name}{each.version}" for each in projections()), "aside1"])


def test_tables_are_not_shared_with_a_build_that_knows_nothing_of_copies() -> None:
    assert generation(projections()) != WITHOUT_COPIES


def test_the_rows_of_such_a_build_are_copied() -> None:
    assert copy_plan(projections(), WITHOUT_COPIES).is_everything
