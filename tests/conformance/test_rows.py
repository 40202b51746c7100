"""Every row has a test."""

import ast

from conformance.rows import HERE, coverage


def test_every_row_is_shown_over_http_or_names_its_test_in_process() -> None:
    assert coverage().bare == set()


def test_no_test_shows_a_row_that_is_not_there() -> None:
    assert coverage().unknown == set()


def test_every_test_in_process_that_a_row_names_is_there() -> None:
    assert coverage().missing == set()


def test_no_row_has_both_a_test_over_http_and_an_excuse() -> None:
    covered = coverage()

    assert covered.over_http.keys() & covered.in_process.keys() == set()


def test_no_test_of_the_suite_is_skipped() -> None:
    for file in HERE.glob("test_*.py"):
        named = {
            n.attr
            for n in ast.walk(ast.parse(file.read_text()))
            if isinstance(n, ast.Attribute)
        }
        assert named & {"skip", "skipif", "xfail", "importorskip"} == set(), file.name
