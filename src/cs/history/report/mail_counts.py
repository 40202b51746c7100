"""Counts of verification: people, what each verifier said of them, and mail domains."""

from collections import Counter
from collections.abc import Iterable

from cs.domain.contact import CheckedPerson
from cs.domain.lookup.contacts import verifying_reason
from cs.domain.mail.mailbox import BOUNCES, Evidence, Verdict
from cs.history.report.counting import BusiestNames
from cs.history.report.events import DomainChecked
from cs.history.report.names import Names, PluginAnswer
from cs.history.report.open_runs import OpenDomain


class MailCounts:
    """What is counted of verification.

    Attributes:
        verifiers: Addresses by verifier and verdict.
        verified_by: People by the verifier that settled it.
        reasons: Addresses by reason and verdict.
        asked_of_several: Addresses on which several verifiers had an opinion.
        domains_put_off: Mail domains with a server that told to come back later.
        verified_by_rule: Verified people by verifier and reason; ``bounced_by_rule``: those
            of whom mail came back for good.
        bounces: Told of, by kind.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self.people_checked = self.people_erased = self.asked_of_several = 0
        self.verdicts = Counter[str]()
        self.verifiers, self.verified_by = Counter[PluginAnswer](), Counter[str]()
        self.unanswered = Counter[str]()
        self.reasons = Counter[PluginAnswer]()
        self.disagreements = Counter[tuple[PluginAnswer, PluginAnswer]]()
        self.domains_checked = self.domains_catch_all = self.domains_put_off = 0
        self.mail_domains = BusiestNames()
        self.verified_by_rule, self.bounced_by_rule = (
            Counter[PluginAnswer](),
            Counter[PluginAnswer](),
        )
        self.bounces = Counter[str]()

    def person(self, checked: CheckedPerson) -> None:
        """Count a person that was checked."""
        self.people_checked += 1
        if not checked.mail_domain:
            self.people_erased += 1
            return
        self.verdicts[checked.verdict.value] += 1
        if checked.verifier is not None:
            self.verified_by[self._names.known(checked.verifier)] += 1
            self.verified_by_rule[self._rule(checked.verifier, verifying_reason(checked))] += 1
        by_address: dict[str, list[Evidence]] = {}
        for evidence in checked.evidence:
            by_address.setdefault(evidence.address, []).append(evidence)
            verifier, verdict = self._names.known(evidence.verifier), evidence.verdict.value
            self.reasons[PluginAnswer(self._names.known(evidence.reason), verdict)] += 1
            if evidence.verifier != BOUNCES:  # it was not asked
                self.verifiers[PluginAnswer(verifier, verdict)] += 1
                self.unanswered[verifier] += not evidence.answered
        for several in by_address.values():
            self._count_disagreements(several)

    def came_back(self, verifier: str, reason: str | None) -> None:
        """Count a mailbox that *verifier* had vouched for, and mail to it came back."""
        self.bounced_by_rule[self._rule(verifier, reason)] += 1

    def _rule(self, verifier: str, reason: str | None) -> PluginAnswer:
        known = self._names.known
        return PluginAnswer(known(verifier), known(reason) if reason else "")

    def domain(self, domain: OpenDomain, event: DomainChecked) -> None:
        """Count a mail domain whose check ended."""
        catch_all = domain.catch_all or bool(event.learned.catch_all)
        put_off = domain.put_off or bool(event.learned.greylists)
        self.domains_checked += 1
        self.domains_catch_all += catch_all
        self.domains_put_off += put_off
        self.mail_domains.add(
            event.mail_domain, domain.people, domain.verified, 1, catch_all, put_off
        )

    def _count_disagreements(self, evidence: Iterable[Evidence]) -> None:
        said = {
            self._names.known(each.verifier): each.verdict.value
            for each in evidence
            if each.verdict is not Verdict.UNKNOWN
        }
        if len(said) < 2:
            return
        self.asked_of_several += 1
        opinions = sorted(PluginAnswer(*each) for each in said.items())
        for n, one in enumerate(opinions):
            for other in opinions[n + 1 :]:
                if one.what != other.what:
                    self.disagreements[one, other] += 1
