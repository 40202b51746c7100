"""Reading a recorded conversation again: what today's rules make of what was said then.

The rules are those that run, `Exchangers.ask` with its probe and its controls; only who
answers is another: `RecordedExchanger` says what the exchanger said.  No server is asked, so
the verdict is a function of the transcript: a question that was not asked then has no answer.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from cs.domain.mail.mailbox import DomainFacts, Evidence, Line, Verdict
from cs.domain.mail.reply import MalformedReply, SmtpReply, parse
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, Stage, meaning
from cs.verifiers.smtp.probe import ProbeMemory, ProbeOutcome, ProbeResult
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import GAP, Transcript
from cs.verifiers.smtp.verdict import SILENT, Exchangers, NoUsableReply, Recipients

_CONNECT = re.compile(r"\[connect (?P<host>\S+) (?P<address>\S+):(?P<port>\d+)\]")
_PROBED = re.compile(r"\[probed earlier: (?P<outcome>[a-z]+)\]")
_RCPT = re.compile(r"RCPT TO:<([^>]*)>")
#: What begins a command before the first recipient: what its reply is read as, and the code
#: that accepts it (`cs.verifiers.smtp.session`).
_STAGES: dict[str, tuple[Stage, int]] = {
    "[connect": ("banner", 220),
    "EHLO": ("helo", 250),
    "HELO": ("helo", 250),
    "STARTTLS": ("starttls", 220),
    "MAIL": ("mail", 250),
}
#: In the place of a probe that was not made.
_NOT_ASKED = "nobody.was.asked"

Heard = tuple[SmtpReply, ReplyMeaning]


class ReadVerdict(msgspec.Struct, frozen=True):
    """What a conversation says about its address, and why."""

    verdict: Verdict
    reason: str

    def says(self, evidence: Evidence) -> bool:
        """Return whether *evidence* says the same."""
        return self.verdict is evidence.verdict and self.reason == evidence.reason


class NeverAsked(Exception):
    """The rules ask something that was not asked then."""


def reread(evidence: Evidence) -> ReadVerdict | None:
    """Return what the conversation of *evidence*, of the ``smtp`` verifier, says today.

    ``None``: it is unknown: no server said anything, some of what was said was not
    stored, or today's rules ask something that was not asked then.
    """
    lines = evidence.conversation
    if GAP in lines or len({line.who == "S" for line in lines}) < 2:
        return None
    recorded = _Conversation(evidence)
    recorded.read()
    if not recorded.exchangers:
        return None
    exchangers = Exchangers(
        recorded.domain,
        DomainFacts(),
        Transcript(lambda: 0.0),
        connect=recorded.exchangers.__getitem__,
        memory=recorded.memory,
        names=recorded.probes(),
    )
    asking = exchangers.ask(evidence.address, tuple(recorded.exchangers))
    try:
        asking.send(None)  # nothing is waited for, so it ends at once
    except StopIteration as ended:
        finding, _ = ended.value
        return ReadVerdict(finding.verdict, finding.reason)
    except NeverAsked:
        return None
    raise AssertionError("it waits for somebody")


class RecordedExchanger:
    """Says what an exchanger said, in its order (`cs.verifiers.smtp.verdict.Recipients`).

    Attributes:
        answers: By who was asked about: in which session, and what was heard; ``None``: no
            whole reply.
        refusal: Why a session came to no recipient, if one did.
    """

    def __init__(self, mx: MxAddress, postmaster: str, silence: str) -> None:
        self.mx = mx
        self.one_recipient = False
        self.accepted: str | None = None
        self.refuses_unknown = False
        self.answers: dict[str, deque[tuple[int, Heard | None]]] = {}
        self.refusal: NoUsableReply | None = None
        self._postmaster = postmaster
        self._silence = silence
        self._session = -1

    def note_control(self, address: str, others: Iterable[str]) -> None:
        """Note who was accepted after a refusal without a word: a mailbox known before."""
        if self._heard(address, ReplyKind.BARE):
            for other in others:
                if self._heard(other, ReplyKind.ACCEPTED):
                    self.accepted = other

    def _heard(self, address: str, kind: ReplyKind) -> bool:
        answers = self.answers.get(address, ())
        return any(heard is not None and heard[1].kind is kind for _, heard in answers)

    async def ask(self, address: str, *, room_for: int = 1) -> Heard:
        del room_for
        answers = self.answers.get(address)
        if not answers:
            if self.refusal is not None:
                raise self.refusal
            if address == self._postmaster:
                raise NoUsableReply(self._silence)  # as if it could not be had
            raise NeverAsked
        while True:
            self._session, heard = answers.popleft()
            if heard is None:
                if answers:
                    continue  # asked again, in a session of its own
                raise self.refusal or NoUsableReply(self._silence)
            if heard[1].kind in {ReplyKind.TOO_MANY, ReplyKind.CLOSING} and answers:
                continue
            return heard

    async def ask_in_same_session(self, address: str) -> Heard | None:
        answers = self.answers.get(address)
        if not answers or answers[0][0] != self._session:
            return None
        return answers.popleft()[1]

    async def hang_up(self) -> None:
        """There is no server."""

    async def abort(self) -> None:
        """There is no server."""


class _Conversation:
    """The lines of a conversation, read one command after the other.

    Attributes:
        domain: The mail domain.
        exchangers: In the order in which they were asked.
        memory: What was known of them from before.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.domain = evidence.address.rpartition("@")[2].lower()
        self.exchangers: dict[MxAddress, Recipients] = {}
        self.memory = ProbeMemory(lambda: 0.0)
        self._evidence = evidence
        self._postmaster = f"postmaster@{self.domain}"
        self._silence = evidence.reason if evidence.reason in SILENT else "closed"
        self._recorded: dict[MxAddress, RecordedExchanger] = {}
        self._others: dict[str, None] = {}  # asked about, in order
        self._is_probed_earlier = False
        self._helo = self._sender = ""
        self._session = 0
        self._mx: MxAddress | None = None
        #: Since the session began: what was said before any recipient, and its reply.
        self._said: list[tuple[str, SmtpReply | None]] = []
        self._outcome: ProbeOutcome | None = None  # of the exchanger that comes next

    def probes(self) -> tuple[str, str]:
        """Return the names that do not exist, which are the installation's secret.

        They are recognised by their order; after a probe that was made earlier, only the second
        is asked about, as a control.
        """
        names = [other.rpartition("@")[0] for other in self._others]
        if self._is_probed_earlier:
            names.insert(0, _NOT_ASKED)
        first, second, *_ = (*names, _NOT_ASKED, _NOT_ASKED)
        return first, second

    def read(self) -> None:
        """Read all lines, each command with what was heard after it."""
        lines = self._evidence.conversation
        commands = [n for n, line in enumerate(lines) if line.who != "S"]
        for begin, end in zip(commands, (*commands[1:], len(lines)), strict=True):
            self._read_command(lines[begin].text, lines[begin + 1 : end])
        self._end_session()
        probes = 1 if self._is_probed_earlier else 2
        for exchanger in self._recorded.values():
            exchanger.note_control(self._evidence.address, [*self._others][: probes + 1])
        self.exchangers.update(self._recorded)

    def _read_command(self, text: str, heard: Sequence[Line]) -> None:
        word, _, rest = text.partition(" ")
        if rcpt := _RCPT.fullmatch(text):
            self._read_answer(rcpt[1], heard)
        elif connect := _CONNECT.fullmatch(text):
            self._end_session()
            self._begin_session(
                MxAddress(connect["host"], connect["address"], int(connect["port"]))
            )
            self._said = [(text, _reply(heard))]
        elif probed := _PROBED.fullmatch(text):
            self._mx, self._is_probed_earlier = None, True
            self._outcome = ProbeOutcome(probed["outcome"])
        elif word == "QUIT":
            self._end_session()
        elif word in _STAGES:
            self._said.append((text, _reply(heard)))
            if word == "MAIL":
                self._sender = rest.removeprefix("FROM:<").removesuffix(">")
            elif word in {"EHLO", "HELO"}:
                self._helo = rest

    def _begin_session(self, mx: MxAddress) -> None:
        self._mx = mx
        self._session += 1
        if mx not in self._recorded:
            self._recorded[mx] = RecordedExchanger(mx, self._postmaster, self._silence)
        if self._outcome is not None:
            self.memory.put(self.domain, mx.address, ProbeResult(self._outcome))
            self._outcome = None

    def _read_answer(self, asked: str, lines: Sequence[Line]) -> None:
        if self._mx is None:  # in a session that an earlier address has opened
            self._begin_session(self._open_already())
        mx = self._mx
        assert mx is not None, "a session was begun"
        self._said = []  # this one came to a recipient
        if asked not in {self._evidence.address, self._postmaster}:
            self._others[asked] = None
        reply, heard = _reply(lines), None
        if reply is not None:
            echoed = (asked, self.domain, mx.host, self._helo)
            heard = reply, meaning(reply, stage="rcpt", echoed=echoed, sender=self._sender)
        answers = self._recorded[mx].answers.setdefault(asked, deque())
        answers.append((self._session, heard))

    def _open_already(self) -> MxAddress:
        """Return the exchanger whose session goes on: which settled it, else the last."""
        settled = self._evidence.mx
        for mx in reversed(self._recorded):
            if settled in {mx.host, None}:
                return mx
        return MxAddress(settled or "", "", 0)

    def _end_session(self) -> None:
        """Note why the session came to no recipient, if it is one that did not."""
        mx, said = self._mx, self._said
        self._mx, self._said = None, []
        if mx is None or not said:
            return
        text, reply = said[-1]
        if text == "STARTTLS" and reply is not None and reply.code != 220 and len(said) > 1:
            text, reply = said[-2]  # which demanded it
        stage, accepting = _STAGES[text.partition(" ")[0]]
        refusal = NoUsableReply(self._silence)
        if reply is not None and reply.code != accepting:
            echoed = (mx.host, mx.address, self._helo)
            found = meaning(reply, stage=stage, echoed=echoed, sender=self._sender)
            # Accepted: out of order, not a welcome.
            accepted = found.kind is ReplyKind.ACCEPTED
            refusal = (
                NoUsableReply("protocol")
                if accepted
                else NoUsableReply(found.kind.value, found)
            )
        self._recorded[mx].refusal = refusal


def _reply(lines: Sequence[Line]) -> SmtpReply | None:
    try:
        return parse([line.text.encode(errors="replace") for line in lines])
    except MalformedReply:
        return None
