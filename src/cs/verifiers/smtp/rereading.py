"""Reading a recorded conversation again: what today's rules make of what was said then.

The rules are those that run, `Exchangers.ask` with its probe and its controls; only who
answers is another: `RecordedExchanger` says what the exchanger said.  Nobody is asked,
so a question that was not asked then has no answer, and neither has the reading.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.domain.mail.reply import MalformedReply, SmtpReply, parse
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, Stage, meaning
from cs.verifiers.smtp.errors import NoUsableReply
from cs.verifiers.smtp.exchangers import SILENT, Exchangers
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult, probe_names
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import GAP, Transcript
from cs.verifiers.smtp.verdict import Recipients

_CONNECT = re.compile(r"\[connect (?P<host>\S+) (?P<address>\S+):(?P<port>\d+)\]")
_PROBED = re.compile(r"\[probed earlier: (?P<outcome>[a-z]+)\]")
_RCPT = re.compile(r"RCPT TO:<(?P<address>[^>]*)>")
#: What begins a command before the first recipient, and what its reply is read as.
_STAGES: dict[str, Stage] = {
    "[connect": "banner",
    "EHLO": "helo",
    "HELO": "helo",
    "STARTTLS": "starttls",
    "MAIL": "mail",
}
#: The code that each is accepted with (`cs.verifiers.smtp.session`).
_ACCEPTED = {"banner": 220, "starttls": 220}


#: Of the people of a brand the server said the same about the probe, and says much alike.
_meaning = lru_cache(4_096)(meaning)
_probe_names = lru_cache(1_024)(probe_names)


class Reading(msgspec.Struct, frozen=True):
    """What a conversation says about its address, and why."""

    verdict: Verdict
    reason: str


class NotAsked(Exception):
    """The rules ask something that nobody asked then."""


def reread(evidence: Evidence) -> Reading | None:
    """Return what the conversation of *evidence*, of the ``smtp`` verifier, says today.

    ``None``: it cannot be told: no server said anything, some of what was said was not
    stored, or today's rules ask something that was not asked then.
    """
    lines = evidence.conversation
    if GAP in lines or not any(line.who == "S" for line in lines):
        return None
    recorded = _Conversation(evidence)
    if not recorded.exchangers:
        return None
    exchangers = Exchangers(
        recorded.mail_domain,
        DomainFacts(),
        Transcript(lambda: 0.0),
        connect=recorded.exchangers.__getitem__,
        memory=recorded.memory,
        salt="",
    )
    asking = exchangers.ask(evidence.address, tuple(recorded.exchangers))
    try:
        asking.send(None)  # nobody is waited for, so it ends at once
    except StopIteration as ended:
        finding, _ = ended.value
        return Reading(finding.verdict, finding.reason)
    except NotAsked:
        return None
    raise AssertionError("it waits for somebody")


class _Answer(msgspec.Struct, frozen=True):
    """What was heard after one question, and in which session."""

    heard: Sequence[str]
    session: int

    @property
    def reply(self) -> SmtpReply | None:
        """The reply; ``None`` if no whole one came."""
        return _reply(self.heard)


class RecordedExchanger:
    """Says what an exchanger said, in its order (`cs.verifiers.smtp.verdict.Recipients`)."""

    def __init__(self, mx: MxAddress, conversation: "_Conversation") -> None:
        self.mx = mx
        self.one_recipient = False
        self.has_accepted = False
        self.refuses_unknown = False
        self.answers: dict[str, deque[_Answer]] = {}
        self.refusal: NoUsableReply | None = None
        self._conversation = conversation
        self._session = -1

    async def ask(self, address: str, *, room_for: int = 1) -> tuple[SmtpReply, ReplyMeaning]:
        del room_for
        asked = self._conversation.spelt(address)
        answers = self.answers.get(asked)
        if not answers:
            if self.refusal is not None:
                raise self.refusal
            if asked == self._conversation.postmaster:
                raise NoUsableReply(self._conversation.silence)  # as if it could not be had
            raise NotAsked
        while True:
            answer = answers.popleft()
            self._session = answer.session
            reply = answer.reply
            if reply is None:
                if answers:
                    continue  # asked again, in a session of its own
                raise self.refusal or NoUsableReply(self._conversation.silence)
            found = self._conversation.meaning(reply, asked, self.mx)
            if found.kind in {ReplyKind.TOO_MANY, ReplyKind.CLOSING} and answers:
                continue
            return reply, found

    async def ask_in_same_session(self, address: str) -> tuple[SmtpReply, ReplyMeaning] | None:
        asked = self._conversation.spelt(address)
        answers = self.answers.get(asked)
        if not answers or answers[0].session != self._session:
            return None
        reply = answers.popleft().reply
        if reply is None:
            return None
        return reply, self._conversation.meaning(reply, asked, self.mx)

    async def hang_up(self) -> None:
        """Nobody is there."""

    async def abort(self) -> None:
        """Nobody is there."""


class _Conversation:
    """The recorded lines by exchanger: which questions were asked, and what was answered.

    Attributes:
        exchangers: In the order in which they were asked.
        memory: What was known of them from before.
        silence: Why there was no reply, where there was none.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.mail_domain = evidence.address.rpartition("@")[2].lower()
        self.postmaster = f"postmaster@{self.mail_domain}"
        self.exchangers: dict[MxAddress, Recipients] = {}
        self.memory = ProbeMemory(lambda: 0.0)
        self.silence = evidence.reason if evidence.reason in SILENT else "closed"
        self._address = evidence.address
        self._mx = evidence.mx
        self._helo = self._sender = ""
        self._others: list[str] = []  # asked about beside the address and the postmaster
        self._probed_earlier = False
        self._read(evidence.conversation)
        self._probes = self._spell_probes()

    def spelt(self, address: str) -> str:
        """Return *address*, or in the place of a probe's the one that was asked about then.

        Which names an installation asks about is its secret (`probe_names`).
        """
        return self._probes.get(address, address)

    def meaning(self, reply: SmtpReply, address: str, mx: MxAddress) -> ReplyMeaning:
        echoed = (address, self.mail_domain, mx.host, self._helo)
        return _meaning(reply, stage="rcpt", echoed=echoed, sender=self._sender)

    def _spell_probes(self) -> dict[str, str]:
        asked = [f"{name}@{self.mail_domain}" for name in _probe_names(self.mail_domain)]
        if self._probed_earlier:
            asked = asked[1:]  # of the probe only the control was asked
        return dict(zip(asked, self._others, strict=False))

    def _read(self, lines: Sequence[Line]) -> None:
        at: RecordedExchanger | None = None
        outcome: ProbeOutcome | None = None  # of the exchanger that comes next
        said: list[tuple[str, Sequence[str]]] = []  # since the session began
        recipients = session = 0
        for command, heard in _exchanges(lines):
            word = command.partition(" ")[0]
            ours = command.startswith("[")  # what was done and not said
            if ours and (probed := _PROBED.fullmatch(command)):
                outcome = ProbeOutcome(probed["outcome"])
                self._probed_earlier = True
                at = None
            elif ours and (connect := _CONNECT.fullmatch(command)):
                self._note_refusal(at, said, recipients)
                mx = MxAddress(connect["host"], connect["address"], int(connect["port"]))
                at, said, recipients, session = self._exchanger(mx), [], 0, session + 1
                said.append((command, heard))
            elif word == "RCPT" and (rcpt := _RCPT.fullmatch(command)):
                if at is None:  # in a session that an earlier address has opened
                    at, session = self._open_already(), session + 1
                recipients += 1
                at.answers.setdefault(rcpt["address"], deque()).append(_Answer(heard, session))
                self._note_other(rcpt["address"])
            elif word == "QUIT":
                self._note_refusal(at, said, recipients)
                at, said, recipients = None, [], 0
            elif word in _STAGES:
                said.append((command, heard))
                self._note_identity(command)
            if at is not None and outcome is not None:
                self.memory.put(self.mail_domain, at.mx.address, ProbeResult(outcome))
                outcome = None
        self._note_refusal(at, said, recipients)

    def _exchanger(self, mx: MxAddress) -> RecordedExchanger:
        known = self.exchangers.get(mx)
        if not isinstance(known, RecordedExchanger):
            known = self.exchangers[mx] = RecordedExchanger(mx, self)
        return known

    def _open_already(self) -> RecordedExchanger:
        """Return the exchanger whose session goes on: which settled it, else the last."""
        for mx in reversed(self.exchangers):
            if self._mx in {mx.host, None}:
                return self._exchanger(mx)
        return self._exchanger(MxAddress(self._mx or "", "", 0))

    def _note_other(self, address: str) -> None:
        known = (self._address, self.postmaster, *self._others)
        if address not in known:
            self._others.append(address)

    def _note_identity(self, command: str) -> None:
        word, _, rest = command.partition(" ")
        if word in {"EHLO", "HELO"}:
            self._helo = rest
        elif word == "MAIL":
            self._sender = rest.removeprefix("FROM:<").removesuffix(">")

    def _note_refusal(
        self,
        at: RecordedExchanger | None,
        said: Sequence[tuple[str, Sequence[str]]],
        recipients: int,
    ) -> None:
        """Note why a session came to no recipient, if it is one."""
        if at is None or not said or recipients:
            return
        command, heard = said[-1]
        reply = _reply(heard)
        refused = reply is not None and reply.code != _ACCEPTED["starttls"]
        if command == "STARTTLS" and refused and len(said) > 1:
            command, heard = said[-2]  # which demanded it
            reply = _reply(heard)
        at.refusal = NoUsableReply(self.silence)
        stage = _STAGES[command.partition(" ")[0]]
        if reply is None or reply.code == _ACCEPTED.get(stage, 250):
            return
        echoed = (at.mx.host, at.mx.address, self._helo)
        why = _meaning(reply, stage=stage, echoed=echoed, sender=self._sender)
        if why.kind is ReplyKind.ACCEPTED:  # out of order, not a welcome
            at.refusal = NoUsableReply("protocol")
        else:
            at.refusal = NoUsableReply(why.kind.value, why)


def _exchanges(lines: Sequence[Line]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield what we said, each with what was heard before we said more."""
    command: str | None = None
    heard: list[str] = []
    for line in lines:
        if line.who == "S":
            heard.append(line.text)
            continue
        if command is not None:
            yield command, heard
        command, heard = line.text, []
    if command is not None:
        yield command, heard


def _reply(heard: Sequence[str]) -> SmtpReply | None:
    try:
        return parse([line.encode(errors="replace") for line in heard])
    except MalformedReply:
        return None
