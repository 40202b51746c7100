"""Does a mail exchanger refuse names that do not exist?  If not, acceptance proves nothing."""

from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256

import msgspec

from cs.domain.mail.reply_meaning import ReplyKind
from cs.runtime.lru import LruDict

#: How long an outcome is believed, in seconds, and of how many exchangers.
BELIEVED_S = 6 * 3600.0
_REMEMBERED = 4_096
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"
#: Names that look like a person's and are borne by hardly anybody: a probe that hits a
#: real mailbox would make its domain look like a catch-all.
_FIRST = (
    "aldous barnaby crispin dorothea evander fenella gideon hepzibah ignatius jocasta "
    "kester lavinia mortimer nerissa octavian perpetua quillon rosamund septimus tamsin "
    "ulric venetia wolfram xanthe yolande zebedee ambrose beatrix cuthbert drusilla eustace "
    "floriane"
)
_LAST = (
    "ashgrovian birchmoor coldwatter dunmereley elderfen farthingdon greenholte harrowmead "
    "inglethorn jessamyne kettlebrook larkhollow mossbarrow nettlecombe oakenshaugh "
    "pennywhistle quarrendale ravenscrofte silverdene thistlemoor underhillier valebrooke "
    "wexcombe yarrowfield zellerbache appleyarde brackenwell cresswater dovehampton "
    "emberwick foxgloven hazelmerrow"
)


class ProbeOutcome(StrEnum):
    REFUSED = "refused"  # all of them, as recipients
    ACCEPTED = "accepted"  # at least one
    INCONCLUSIVE = "inconclusive"


class ProbeResult(msgspec.Struct, frozen=True):
    """The result of a probe; *kind* is the answer that left it inconclusive."""

    outcome: ProbeOutcome
    kind: ReplyKind | None = None
    retry_in_s: float | None = None


def probe_names(mail_domain: str, salt: str = "") -> tuple[str, str]:
    """Return two local parts that do not exist: 16 letters and digits, and like a name.

    The same for the same domain, so that a greylist that has seen them opens to them.
    *salt* makes them the installation's own: a domain that knew its names beforehand could
    refuse just these.
    """
    seed = sha256(f"{salt}:{mail_domain}".encode()).digest()
    letters = "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in seed[:15])
    firsts, lasts = _FIRST.split(), _LAST.split()
    first, last = firsts[seed[16] % len(firsts)], lasts[seed[17] % len(lasts)]
    return _ALPHABET[seed[15] % 26] + letters, f"{first}.{last}"


class ProbeMemory:
    """Conclusive outcomes by (mail domain, exchanger's address), for some hours.

    By address, not by name: one host name may stand for machines that differ.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._outcomes = LruDict[tuple[str, str], tuple[float, ProbeResult]](_REMEMBERED)

    def get(self, mail_domain: str, address: str) -> ProbeResult | None:
        stored = self._outcomes.get((mail_domain, address))
        if stored is None or self._monotonic() - stored[0] >= BELIEVED_S:
            return None
        return stored[1]

    def put(self, mail_domain: str, address: str, probe: ProbeResult) -> None:
        """Remember *probe* if it is conclusive; the oldest goes when there are too many."""
        if probe.outcome is not ProbeOutcome.INCONCLUSIVE:
            self._outcomes[mail_domain, address] = (self._monotonic(), probe)
