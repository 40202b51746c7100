"""What an attempt at a mail domain found refused: the next one does not ask about it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cs.domain.contact import CheckedPerson
from cs.domain.mail.conclusion import decisive
from cs.domain.mail.mailbox import Evidence, Verdict
from cs.domain.stages.work import Work
from cs.runtime.lru import LruDict

EvidenceByAddress = Mapping[str, Sequence[Evidence]]

#: Attempts that are remembered: by one worker, those whose retry is not there yet.
_ATTEMPTS = 200
#: How long, by the deadlines of work: a lookup takes two minutes.
_REMEMBERED = timedelta(minutes=5)

_Refused = dict[str, EvidenceByAddress]  # by person


class Refusals:
    """Addresses found to be no mailbox, of people who are to be asked about again.

    By one worker: another one that gets the retry asks anew.
    """

    def __init__(self) -> None:
        self._by_work = LruDict[tuple[str, str], tuple[datetime, _Refused]](_ATTEMPTS)

    def note(self, work: Work, undecided: Iterable[CheckedPerson]) -> None:
        """Remember what was refused of those who are *undecided* after *work*."""
        refused = {each.person: _refused(each) for each in undecided}
        if any(refused.values()):
            self._by_work[work.lookup, work.item] = (work.deadline_at, refused)

    def pop(self, work: Work) -> _Refused:
        """Return, by person, what an earlier attempt at *work* found; it is forgotten here."""
        oldest = work.deadline_at - _REMEMBERED
        self._by_work.evict_while(lambda noted: noted[0] < oldest)
        _, refused = self._by_work.pop((work.lookup, work.item), (None, {}))
        return refused


def _refused(checked: CheckedPerson) -> EvidenceByAddress:
    found: dict[str, list[Evidence]] = {}
    for each in checked.evidence:
        found.setdefault(each.address, []).append(each)
    return {
        address: evidence
        for address, evidence in found.items()
        if decisive(evidence).verdict is Verdict.UNDELIVERABLE
    }
