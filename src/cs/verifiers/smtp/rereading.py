"""Reading a recorded conversation again: what today's rules make of what was said then.

The rules are those that run, `Exchangers.ask` with its probe and its controls; only who
answers is another: `RecordedExchanger` says what the exchanger said, which is made a script
first (`cs.verifiers.smtp.script`).  Nobody is asked, so a question that was not asked then has
no answer, and neither has the reading.
"""

from collections import deque
from functools import lru_cache

import msgspec

from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.mail.reply import SmtpReply
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning
from cs.verifiers.smtp.errors import NoUsableReply
from cs.verifiers.smtp.exchangers import Exchangers
from cs.verifiers.smtp.probe import ProbeMemory, ProbeResult, probe_names
from cs.verifiers.smtp.script import (
    ADDRESS,
    POSTMASTER,
    ReplyHeard,
    Script,
    forget_replies,
    script_of,
)
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import Transcript
from cs.verifiers.smtp.verdict import Recipients

#: In the place of the mail domain and the address, of which a script says nothing.
_DOMAIN = "mail-domain.invalid"
_SOMEBODY = f"whoever-is-asked-about@{_DOMAIN}"
_PROBES = tuple(f"{name}@{_DOMAIN}" for name in probe_names(_DOMAIN))
_CONTROL = f"postmaster@{_DOMAIN}"
#: Whom the exchanger had accepted before, where that was asked again as a control.
_ACCEPTED = f"who-was-accepted-before@{_DOMAIN}"
#: Of whom nobody was asked.
_NOBODY = -1
#: Scripts whose readings are remembered, some 2 kB each: thousands of conversations with
#: servers of one make differ in nothing but names.
_SCRIPTS = 4_096


class ReadVerdict(msgspec.Struct, frozen=True):
    """What a conversation says about its address, and why."""

    verdict: Verdict
    reason: str

    def says(self, evidence: Evidence) -> bool:
        """Return whether *evidence* says the same."""
        return self.verdict is evidence.verdict and self.reason == evidence.reason


class NeverAsked(Exception):
    """The rules ask something that nobody asked then."""


def reread(evidence: Evidence) -> ReadVerdict | None:
    """Return what the conversation of *evidence*, of the ``smtp`` verifier, says today.

    ``None``: it cannot be told: no server said anything, some of what was said was not
    stored, or today's rules ask something that was not asked then.
    """
    script = script_of(evidence)
    return None if script is None else _read(script)


@lru_cache(_SCRIPTS)
def _read(script: Script) -> ReadVerdict | None:
    """Return what the rules make of *script*: of nothing else, so that it is read once."""
    recorded = _RecordedAnswers(script)
    exchangers = Exchangers(
        _DOMAIN,
        DomainFacts(),
        Transcript(lambda: 0.0),
        connect=recorded.exchangers.__getitem__,
        memory=recorded.memory,
        salt="",
    )
    asking = exchangers.ask(recorded.address, tuple(recorded.exchangers))
    try:
        asking.send(None)  # nobody is waited for, so it ends at once
    except StopIteration as ended:
        finding, _ = ended.value
        return ReadVerdict(finding.verdict, finding.reason)
    except NeverAsked:
        return None
    raise AssertionError("it waits for somebody")


def forget() -> None:
    """Forget what was read: every conversation is read anew, as by a new process."""
    _read.cache_clear()
    forget_replies()


class _RecordedAnswers:
    """What a script says, by exchanger.

    Attributes:
        address: The mailbox in question, by the name that it has here.
        exchangers: In the order in which they were asked.
        memory: What was known of them from before.
    """

    def __init__(self, script: Script) -> None:
        self.address = _CONTROL if script.is_postmaster else _SOMEBODY
        self.memory = ProbeMemory(lambda: 0.0)
        roles = _roles(script)
        known: dict[int, RecordedExchanger] = {}
        for number, host, address, outcome in script.sessions:
            mx = MxAddress(f"mx-{host}.invalid", str(address), number)
            known.setdefault(number, RecordedExchanger(mx, roles, script.silence))
            if outcome is not None:
                self.memory.put(_DOMAIN, mx.address, ProbeResult(outcome))
        for session, role, heard in script.answers:
            answers = known[script.sessions[session][0]].answers
            answers.setdefault(role, deque()).append((session, heard))
        for session, why, meaning in script.refusals:
            known[script.sessions[session][0]].refusal = NoUsableReply(why, meaning)
        for exchanger in known.values():
            exchanger.note_control()
        self.exchangers: dict[MxAddress, Recipients] = {e.mx: e for e in known.values()}


def _roles(script: Script) -> dict[str, int]:
    """Return who is asked about, by the names that the rules ask for here.

    Which names an installation asks about is its secret (`probe_names`): they are told by
    their order.
    """
    probes = _PROBES[1:] if script.is_probed_earlier else _PROBES  # then only the control
    return {
        _SOMEBODY: ADDRESS,
        _CONTROL: POSTMASTER,
        **{probe: POSTMASTER + number for number, probe in enumerate(probes, 1)},
        _ACCEPTED: POSTMASTER + len(probes) + 1,
    }


class RecordedExchanger:
    """Says what an exchanger said, in its order (`cs.verifiers.smtp.verdict.Recipients`).

    Attributes:
        answers: By who was asked about: in which session, and what was heard.
        refusal: Why a session came to no recipient, if one did.
    """

    def __init__(self, mx: MxAddress, roles: dict[str, int], silence: str) -> None:
        self.mx = mx
        self.one_recipient = False
        self.accepted: str | None = None
        self.refuses_unknown = False
        self.answers: dict[int, deque[tuple[int, ReplyHeard | None]]] = {}
        self.refusal: NoUsableReply | None = None
        self._roles = roles
        self._silence = silence
        self._session = -1

    def note_control(self) -> None:
        """Note who was accepted after a refusal without a word: somebody known before."""
        refusals = self.answers.get(ADDRESS, ())
        if not any(heard and heard.meaning.kind is ReplyKind.BARE for _, heard in refusals):
            return
        for name, role in self._roles.items():
            answers = self.answers.get(role, ()) if role > POSTMASTER else ()
            if any(heard and heard.meaning.kind is ReplyKind.ACCEPTED for _, heard in answers):
                self.accepted = name

    async def ask(self, address: str, *, room_for: int = 1) -> tuple[SmtpReply, ReplyMeaning]:
        del room_for
        role = self._roles.get(address, _NOBODY)
        answers = self.answers.get(role)
        if not answers:
            if self.refusal is not None:
                raise self.refusal
            if role == POSTMASTER:
                raise NoUsableReply(self._silence)  # as if it could not be had
            raise NeverAsked
        while True:
            self._session, heard = answers.popleft()
            if heard is None:
                if answers:
                    continue  # asked again, in a session of its own
                raise self.refusal or NoUsableReply(self._silence)
            if heard.meaning.kind in {ReplyKind.TOO_MANY, ReplyKind.CLOSING} and answers:
                continue
            return heard.reply, heard.meaning

    async def ask_in_same_session(self, address: str) -> tuple[SmtpReply, ReplyMeaning] | None:
        answers = self.answers.get(self._roles.get(address, _NOBODY))
        if not answers or answers[0][0] != self._session:
            return None
        _, heard = answers.popleft()
        return None if heard is None else (heard.reply, heard.meaning)

    async def hang_up(self) -> None:
        """Nobody is there."""

    async def close(self) -> None:
        """Nobody is there."""

    async def abort(self) -> None:
        """Nobody is there."""
