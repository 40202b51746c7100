"""DNS answers in memory: the records alone, and no longer than they are true.

dnspython's own caches keep the message that an answer came in, some 5 KB, and keep it when its
time is over until it is asked for again or 100,000 others came.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.resolver

from cs.metrics.metrics import Metrics
from cs.runtime.lru import LruDict

#: An answer is used again for as long as its TTL says, but no longer than this.
LONGEST_S = 300.0
#: Answers kept at most, some 0.5 KB each; the least recently used goes first.
ANSWERS = 4_096
#: Records of a response that is kept; a zone of a stranger could fill 64 KiB with them.
_RECORDS = 100


class NoSuchName(Exception):
    """NXDOMAIN: there is no such name."""


class _Kept(NamedTuple):
    records: tuple[dns.rdata.Rdata, ...] | None  # None: no such name
    until: float


class DnsAnswers:
    """What the `cache` of a resolver of dnspython is set to: it is told all answers.

    Args:
        monotonic: Seconds that only grow.
        metrics: Where entries, hits and misses are counted, as ``dns-answers``.
    """

    def __init__(self, monotonic: Callable[[], float], metrics: Metrics) -> None:
        self._monotonic = monotonic
        self._kept = LruDict[tuple[dns.name.Name, dns.rdatatype.RdataType], _Kept](ANSWERS)
        self._counters = metrics.cache("dns-answers", self._kept.__len__, ANSWERS)

    def find(
        self, name: dns.name.Name, kind: dns.rdatatype.RdataType
    ) -> tuple[dns.rdata.Rdata, ...] | None:
        """Return the records of *kind* that *name* has; ``None`` if that is not known here.

        Raises:
            NoSuchName: There is no such name.
        """
        for key in ((name, kind), (name, dns.rdatatype.ANY)):
            kept = self._kept.get(key)
            if kept is not None and kept.until > self._monotonic():
                self._kept.use(key)
                self._counters.hits.inc()
                if kept.records is None:
                    raise NoSuchName
                return kept.records
        self._counters.misses.inc()
        return None

    # What dnspython calls.

    def get(self, _key: dns.resolver.CacheKey) -> dns.resolver.Answer | None:
        """Return nothing: `find` was asked before the resolver was."""
        return None

    def put(self, key: dns.resolver.CacheKey, value: dns.resolver.Answer) -> None:
        """Keep the records of *value*; under ``ANY`` it says that there is no such name."""
        sections = value.response.sections
        if sum(len(rrset) for section in sections for rrset in section) > _RECORDS:
            return
        now, (name, kind, _) = self._monotonic(), key
        self._kept.evict_while(lambda kept: kept.until <= now)
        records = None if kind == dns.rdatatype.ANY else tuple(value.rrset or ())
        for_s = min(value.expiration - time.time(), LONGEST_S)
        if for_s > 0:
            self._kept[name, kind] = _Kept(records, now + for_s)
