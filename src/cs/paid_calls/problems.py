"""Problems with the answers of a service, the same kinds for all services.

=================  ==============================================  ==========  =============
Kind               Behaviour of the service                        May pass    Others pause
=================  ==============================================  ==========  =============
``timeout``        no answer in time; it may have been charged     yes         no
``unreachable``    DNS, connection, TLS, a redirect elsewhere      yes         no
``rate-limited``   429, with or without ``Retry-After``            yes         as it asks, 5 s
``pending``        202: it works on it; ask the same again         yes         no
``key-refused``    401, 403                                        no          60 s
``no-credits``     402                                             no          60 s
``bad-question``   another 4xx: it does not take what was asked    no          no
``restricted``     451: it may not tell (a person's data)          no          no
``nothing``        404: it knows nothing of what was asked         an answer   no
``out-of-order``   5xx, a redirect                                 yes         no
``not-json``       a web page, a cut-off body                      yes         no
``wrong-shape``    JSON of other types than documented             no          no
``over-cap``       not asked: the operator's cap                   tomorrow    no
``away``           not asked: our own database is away             yes         no
``lost``           asked before, and the answer is lost            no          no
=================  ==============================================  ==========  =============

A service that means something else by a status has a ``judge`` of its own, which looks first
(`cs.paid_calls.service.PaidService`).
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

import msgspec

from cs.outside.port import Forbidden, Response, Unreachable
from cs.outside.retry_after import retry_after_s
from cs.paid_calls.errors import CallsUnavailable, NotCharged

T = TypeVar("T")

#: How long all workers leave a service alone that answers 429 and does not say for how long.
PAUSE_S = 5.0
#: And one that refuses our key, or has no credits left for us: an operator has to do
#: something, and some services lock out a caller that goes on (ZeroBounce: 200 bad keys an
#: hour).
REFUSED_PAUSE_S = 60.0
#: When an answer that is still being worked on is asked for again.
PENDING_S = 3.0
#: What `Unreachable` says when no byte of the request can have arrived.
_NOT_SENT = frozenset({"dns", "no-host", "connect", "robots", "unavailable"})


class ProblemKind(StrEnum):
    """The table above."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    RATE_LIMITED = "rate-limited"
    PENDING = "pending"
    KEY_REFUSED = "key-refused"
    NO_CREDITS = "no-credits"
    BAD_QUESTION = "bad-question"
    RESTRICTED = "restricted"
    NOTHING = "nothing"
    OUT_OF_ORDER = "out-of-order"
    NOT_JSON = "not-json"
    WRONG_SHAPE = "wrong-shape"
    OVER_CAP = "over-cap"
    AWAY = "away"
    LOST = "lost"


#: Wrong until the operator does something.
FOR_THE_OPERATOR = frozenset({ProblemKind.KEY_REFUSED, ProblemKind.NO_CREDITS})
#: The service itself is away, or answers no request.
AWAY = frozenset({ProblemKind.TIMEOUT, ProblemKind.UNREACHABLE, ProblemKind.OUT_OF_ORDER})
#: The service may have charged for it.
MAY_BE_CHARGED = frozenset(
    {ProblemKind.TIMEOUT, ProblemKind.NOT_JSON, ProblemKind.WRONG_SHAPE, ProblemKind.LOST}
)


class ServiceProblem(Exception):
    """There is no usable answer; the message is for people, without secrets or persons.

    Attributes:
        kind: The kind of the problem.
        retry_in_s: When to come back, in seconds, if that is known.
    """

    def __init__(self, kind: ProblemKind, why: str, retry_in_s: float | None = None) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why
        self.retry_in_s = retry_in_s

    @property
    def permanent(self) -> bool:
        """Whether it stays until the operator does something."""
        return self.kind in FOR_THE_OPERATOR


class UnchargedProblem(ServiceProblem, NotCharged):
    """One that the service does not charge for: the question may be asked again."""


class NotSentProblem(UnchargedProblem):
    """One for which the service was not asked: a cap, a full bucket, or a pause."""


def problem(kind: ProblemKind, why: str, retry_in_s: float | None = None) -> ServiceProblem:
    """Return the problem of that *kind*: an `UnchargedProblem` unless it may be charged."""
    made = ServiceProblem if kind in MAY_BE_CHARGED else UnchargedProblem
    return made(kind, why, retry_in_s)


_BY_STATUS: Mapping[int, tuple[ProblemKind, str]] = {
    202: (ProblemKind.PENDING, "is still working on it"),
    400: (ProblemKind.BAD_QUESTION, "does not take the question (400)"),
    401: (ProblemKind.KEY_REFUSED, "refuses the key (401); set another one"),
    402: (ProblemKind.NO_CREDITS, "has no credits left for this key (402); buy some"),
    403: (
        ProblemKind.KEY_REFUSED,
        "refuses the key (403); set one that may ask",
    ),
    404: (ProblemKind.NOTHING, "knows nothing of it (404)"),
    408: (ProblemKind.TIMEOUT, "did not answer in time (408)"),
    429: (ProblemKind.RATE_LIMITED, "asks us to come back later (429)"),
    451: (ProblemKind.RESTRICTED, "may not tell (451)"),
    504: (ProblemKind.TIMEOUT, "did not answer in time (504)"),
}
_WAITS = {ProblemKind.RATE_LIMITED: PAUSE_S, ProblemKind.PENDING: PENDING_S}


def judge_status(service: str, answer: Response, *, now: datetime) -> ServiceProblem | None:
    """Return what the status of *answer* means; ``None`` for an answer that can be read."""
    found = _BY_STATUS.get(answer.status)
    if found is not None:
        kind, said = found
        wait_s = retry_after_s(answer.headers, now=now) or _WAITS.get(kind)
        return problem(kind, f"{service} {said}", wait_s)
    if 200 <= answer.status < 300:
        return None
    asked_wrongly = 400 <= answer.status < 500
    kind = ProblemKind.BAD_QUESTION if asked_wrongly else ProblemKind.OUT_OF_ORDER
    wait_s = retry_after_s(answer.headers, now=now)
    return problem(kind, f"{service} answers {answer.status}", wait_s)


def read_answer(service: str, body: bytes, kind: type[T]) -> T:
    """Return *body*, JSON, as *kind*.

    Raises:
        ServiceProblem: ``not-json`` or ``wrong-shape``.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        # Of its message only the place: a value may be a person's.
        place = str(error).rpartition(" - at ")[2].strip("`") if " - at " in str(error) else "$"
        why = f"{service} answers JSON of another shape than documented, at {place}"
        raise problem(ProblemKind.WRONG_SHAPE, why) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        page = body.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<")
        what = "a web page" if page else "something that is no whole JSON"
        why = f"{service} answers {what}"
        raise problem(ProblemKind.NOT_JSON, why) from None


def of_unreachable(service: str, error: Unreachable | Forbidden) -> ServiceProblem:
    """Return *error* of the HTTP client as a problem; `NotSentProblem` if nothing was sent."""
    if isinstance(error, Unreachable) and error.why == "timeout":
        return problem(ProblemKind.TIMEOUT, f"{service} did not answer in time")
    why = error.why if isinstance(error, Unreachable) else "no address that can be asked"
    made = NotSentProblem if not_sent(error) else ServiceProblem
    return made(ProblemKind.UNREACHABLE, f"{service} cannot be reached: {why}")


def not_sent(error: Exception) -> bool:
    """Return whether no byte of a request that ended with *error* can have arrived."""
    if isinstance(error, Unreachable):
        return error.why in _NOT_SENT
    # `CallsUnavailable` is of the account that a call is reserved in before it is made.
    return isinstance(error, NotSentProblem | Forbidden | CallsUnavailable)
