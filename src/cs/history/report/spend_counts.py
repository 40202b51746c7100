"""Counts of what each source and verifier was asked, what it cost, and whom that verified."""

from collections.abc import Iterable, Mapping

from cs.domain.source_cost import SourceCost, SourceFigures
from cs.history.report.names import Names


class SpendCounts:
    """Sums by stage and name; ``recorded`` says whether any event told what it cost."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._sums: dict[tuple[str, str], SourceFigures] = {}
        self.recorded = False

    def attempt(self, stage: str, costs: Iterable[SourceCost]) -> None:
        """Count an attempt of *stage*."""
        for each in costs:
            self.recorded = True
            if each.asked or each.calls or each.micros:
                self._add(
                    SourceFigures(
                        stage=stage,
                        name=self._names.known(each.name),
                        asked=each.asked,
                        calls=each.calls,
                        micros=each.micros,
                        found=each.found,
                        used=each.used,
                    )
                )

    def verified(self, stage: str, people: Mapping[str, int]) -> None:
        """Count verified *people*, by whom *stage* asked."""
        for name, count in people.items():
            known = self._names.known(name)
            self._add(SourceFigures(stage=stage, name=known, verified=count))

    def figures(self) -> list[SourceFigures]:
        """Return the sums, by stage and name."""
        return [self._sums[key] for key in sorted(self._sums)]

    def _add(self, more: SourceFigures) -> None:
        key = more.stage, more.name
        before = self._sums.get(key)
        self._sums[key] = more if before is None else before + more
