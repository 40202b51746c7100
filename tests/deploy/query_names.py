"""Which figures and labels a query of Prometheus names."""

from collections.abc import Iterator

import promql_parser as promql


def names_in(query: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each figure that *query* names, with the labels that it wants of it."""
    yield from _named(promql.parse(query), frozenset())


def _named(part: promql.Expr, wanted: frozenset[str]) -> Iterator[tuple[str, set[str]]]:
    match part:
        case promql.VectorSelector():
            assert part.name is not None, "a selector without a name reads everything"
            matched = {matcher.name for matcher in part.matchers.matchers}
            yield part.name, {*wanted, *matched}
        case promql.MatrixSelector():
            yield from _named(part.vector_selector, wanted)
        case promql.AggregateExpr():
            of_group = part.modifier.labels if part.modifier is not None else ()
            yield from _named(part.expr, wanted | frozenset(of_group))
        case promql.BinaryExpr():
            matching = part.modifier.matching if part.modifier is not None else None
            on = frozenset(matching.labels if matching is not None else ())
            yield from _named(part.lhs, wanted | on)
            yield from _named(part.rhs, wanted | on)
        case promql.Call():
            for argument in part.args:
                yield from _named(argument, wanted)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            yield from _named(part.expr, wanted)
        case promql.NumberLiteral() | promql.StringLiteral():
            pass
        case _:
            raise AssertionError(f"what is {type(part).__name__}?")
