"""A recorded conversation as a script: who was asked about, and what each answer meant.

A script has no names: who is asked about has a role, exchangers have numbers, and of a reply
there is left what it means and the words that are no names of ours.  So the same is said of
everybody whom servers of one make answer alike, and the rules are run once for all of them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from cs.domain.mail.mailbox import Evidence, Line
from cs.domain.mail.reply import MalformedReply, SmtpReply, parse
from cs.domain.mail.reply_meaning import ReplyKind, ReplyMeaning, Stage, gist, meaning
from cs.verifiers.smtp.exchangers import SILENT
from cs.verifiers.smtp.probe import ProbeOutcome
from cs.verifiers.smtp.session import MxAddress
from cs.verifiers.smtp.transcript import GAP

_CONNECT = re.compile(r"\[connect (?P<host>\S+) (?P<address>\S+):(?P<port>\d+)\]")
_PROBED = re.compile(r"\[probed earlier: (?P<outcome>[a-z]+)\]")
_RCPT = re.compile(r"RCPT TO:<([^>]*)>")
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

#: Who is asked about: the mailbox in question, the postmaster; from the next number on whoever
#: else was, in their order.
ADDRESS, POSTMASTER = 0, 1

#: In the place of the address that a reply repeats.
_MARK = "\0"
_SOMEBODY = "whoever-is-asked-about@mail-domain.invalid"
#: Commands and replies that are remembered, some 500 bytes each.
_REMEMBERED = 4_096
#: The first digit of a refusal: only its words are compared (`same_words`).
_REFUSED = 5
#: Characters of a reply within which all of it is read, whatever address it repeats.
_SHORT = 1_500
#: What every name of a host has in it, and few replies.
_HOST = re.compile(r"[a-z0-9_-]\.[a-z_-]")


class ReplyHeard(msgspec.Struct, frozen=True, eq=False):
    """A reply without names of ours, and what it means; alike ones are one object."""

    reply: SmtpReply
    meaning: ReplyMeaning


class Script(NamedTuple):
    """A conversation without names.

    Attributes:
        silence: Why there was no reply, where there was none.
        is_postmaster: Whether the mailbox in question is the postmaster's.
        is_probed_earlier: Whether the outcome of a probe was known before.
        sessions: In order: the numbers of the exchanger, of its host's name and of its
            address, and what was known of it from before.
        answers: In order: in which session, about whom, and what was heard; ``None``: no
            whole reply.
        refusals: Sessions that came to no recipient, and why.
    """

    silence: str
    is_postmaster: bool
    is_probed_earlier: bool
    sessions: tuple[tuple[int, int, int, ProbeOutcome | None], ...]
    answers: tuple[tuple[int, int, ReplyHeard | None], ...]
    refusals: tuple[tuple[int, str, ReplyMeaning | None], ...]


def script_of(evidence: Evidence) -> Script | None:
    """Return the conversation of *evidence*, of the ``smtp`` verifier, as a script.

    ``None``: no server said anything, or some of what was said was not stored.
    """
    lines = evidence.conversation
    commands = [n for n, line in enumerate(lines) if line.who != "S"]
    if len(commands) in {0, len(lines)} or GAP in lines:
        return None
    conversation = _Conversation(evidence)
    conversation.read(commands)
    return conversation.script()


class _Command(msgspec.Struct, frozen=True):
    """What we said or did, other than to name a recipient.

    Attributes:
        word: What it begins with.
        mx: The exchanger, of a connection.
        outcome: Of a probe, if that is what is noted.
        name: Ours: that we greet with, or that we send from.
    """

    word: str
    mx: MxAddress | None = None
    outcome: ProbeOutcome | None = None
    name: str = ""


@lru_cache(_REMEMBERED)
def _command(text: str) -> _Command:
    word, _, rest = text.partition(" ")
    if connect := _CONNECT.fullmatch(text):
        mx = MxAddress(connect["host"], connect["address"], int(connect["port"]))
        return _Command(word, mx=mx)
    if probed := _PROBED.fullmatch(text):
        return _Command(word, outcome=ProbeOutcome(probed["outcome"]))
    if word == "MAIL":
        return _Command(word, name=rest.removeprefix("FROM:<").removesuffix(">"))
    return _Command(word, name=rest)


class _Conversation:
    """The lines of a conversation, read one command after the other."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._lines = evidence.conversation
        self._silence = evidence.reason if evidence.reason in SILENT else "closed"
        local, _, domain = evidence.address.rpartition("@")
        self._local = local.lower()
        self._domain = domain.lower()
        self._postmaster = f"postmaster@{self._domain}"
        self._helo = self._sender = ""
        self._exchangers: dict[MxAddress, tuple[int, int, int]] = {}
        self._outcome: ProbeOutcome | None = None  # of the exchanger that comes next
        self._is_probed_earlier = False
        self._sessions: list[tuple[int, int, int, ProbeOutcome | None]] = []
        #: In which session, who, at which line, and where the lines end that were heard.
        self._asked: list[tuple[int, str, int, int]] = []
        self._hosts: list[str] = []  # of each session
        self._are_hosts = False  # whether each name of ours is found by `_HOST`
        self._refusals: list[tuple[int, str, ReplyMeaning | None]] = []

    def read(self, commands: Sequence[int]) -> None:
        """Read the lines *commands*, each with what was heard after it."""
        lines, asked = self._lines, self._asked
        at: MxAddress | None = None
        said: list[tuple[str, int, int]] = []  # since the session began
        recipients = 0  # of the session
        for begin, end in zip(commands, (*commands[1:], len(lines)), strict=True):
            text = lines[begin].text
            if text.startswith("RCPT ") and (rcpt := _RCPT.fullmatch(text)):
                if at is None:  # in a session that an earlier address has opened
                    at = self._open_already()
                    self._begin(at)
                recipients += 1
                asked.append((len(self._sessions) - 1, rcpt[1], begin + 1, end))
                continue
            command = _command(text)
            if command.mx is not None:
                self._end(at, said, recipients)
                at, said, recipients = command.mx, [(text, begin + 1, end)], 0
                self._begin(at)
            elif command.outcome is not None:
                at, self._outcome, self._is_probed_earlier = None, command.outcome, True
            elif command.word == "QUIT":
                self._end(at, said, recipients)
                at, said, recipients = None, [], 0
            elif command.word in _STAGES:
                said.append((text, begin + 1, end))
                if command.word == "MAIL":
                    self._sender = command.name
                elif command.word in {"EHLO", "HELO"}:
                    self._helo = command.name
        self._end(at, said, recipients)

    def script(self) -> Script | None:
        """Return what was read."""
        if not self._exchangers:
            return None
        roles = {self._postmaster: POSTMASTER}
        is_postmaster = roles.setdefault(self._evidence.address, ADDRESS) == POSTMASTER
        answers = []
        self._are_hosts = _are_hosts(self._domain, self._helo, self._sender, *self._hosts)
        for session, asked, begin, end in self._asked:
            role = roles.get(asked)
            if role is None:
                role = roles[asked] = len(roles) + is_postmaster
            heard = None if begin == end else self._heard(asked, begin, end, session)
            answers.append((session, role, heard))
        return Script(
            self._silence,
            is_postmaster,
            self._is_probed_earlier,
            tuple(self._sessions),
            tuple(answers),
            tuple(self._refusals),
        )

    def _begin(self, mx: MxAddress) -> None:
        """Begin a session with *mx*."""
        numbers = self._exchangers.get(mx) if self._exchangers else (0, 0, 0)
        if numbers is None:
            known = (*self._exchangers, mx)
            hosts = list(dict.fromkeys(each.host for each in known))
            addresses = list(dict.fromkeys(each.address for each in known))
            numbers = len(known) - 1, hosts.index(mx.host), addresses.index(mx.address)
        self._exchangers[mx] = numbers
        self._sessions.append((*numbers, self._outcome))
        self._hosts.append(mx.host)
        self._outcome = None

    def _open_already(self) -> MxAddress:
        """Return the exchanger whose session goes on: which settled it, else the last."""
        settled = self._evidence.mx
        for mx in reversed(self._exchangers):
            if settled in {mx.host, None}:
                return mx
        return MxAddress(settled or "", "", 0)

    def _end(
        self, mx: MxAddress | None, said: Sequence[tuple[str, int, int]], recipients: int
    ) -> None:
        """Note why the session with *mx* came to no recipient, if it is one that did not."""
        if mx is None or not said or recipients:
            return
        text, begin, end = said[-1]
        reply = _reply(self._lines[begin:end])
        refused = reply is not None and reply.code != _ACCEPTED["starttls"]
        if text == "STARTTLS" and refused and len(said) > 1:
            text, begin, end = said[-2]  # which demanded it
            reply = _reply(self._lines[begin:end])
        stage = _STAGES[text.partition(" ")[0]]
        why: tuple[str, ReplyMeaning | None] = (self._silence, None)
        if reply is not None and reply.code != _ACCEPTED.get(stage, 250):
            echoed = (mx.host, mx.address, self._helo)
            found = meaning(reply, stage=stage, echoed=echoed, sender=self._sender)
            # Accepted: out of order, not a welcome.
            accepted = found.kind is ReplyKind.ACCEPTED
            why = ("protocol", None) if accepted else (found.kind.value, found)
        self._refusals.append((len(self._sessions) - 1, *why))

    def _heard(self, asked: str, begin: int, end: int, session: int) -> ReplyHeard | None:
        """Return what was heard about *asked* in these lines, in that session."""
        address, host = self._evidence.address, self._hosts[session]
        names = self._domain, host, self._helo, self._sender
        if begin + 1 == end and "#" not in asked and "(" not in asked:
            text = self._lines[begin].text
            known = _remembered(text.replace(asked, _MARK))
            lower = known.lower
            if (
                known.is_plain
                and len(text) < _SHORT
                and _MARK not in text
                and self._local not in lower
                and asked.partition("@")[0].lower() not in lower
                and (_none_in(lower, *names) if known.names_hosts else self._are_hosts)
            ):
                return known.heard
        return _heard(
            self._lines[begin:end],
            (asked, *names[:3]),
            self._sender,
            (asked, address, self._postmaster, self._domain, host),
        )


def _none_in(lower: str, *names: str) -> bool:
    return not any(name.lower() in lower for name in names if name)


@lru_cache(_REMEMBERED)
def _are_hosts(*names: str) -> bool:
    return all(_HOST.search(name.lower()) for name in names if name)


class _ReplyMeaning(msgspec.Struct, frozen=True):
    """A reply of one line with `_MARK` in the place of the address that was asked about.

    Attributes:
        lower: In lower case.
        is_plain: Whether it means the same whichever address that was, and whosever server's,
            if no name of ours is in it.
        names_hosts: Whether it may name one: without `_HOST` there is none in it.
        heard: What it means then.
    """

    lower: str
    is_plain: bool
    names_hosts: bool
    heard: ReplyHeard | None


@lru_cache(_REMEMBERED)
def _remembered(marked: str) -> _ReplyMeaning:
    lower = marked.lower()
    repeated = marked.count(_MARK)
    # The digits of an address may read as a time to wait.
    is_plain = marked.isascii() and repeated <= (0 if marked.startswith("4") else 2)
    line = Line(0, "S", marked.replace(_MARK, _SOMEBODY))
    heard = _heard((line,), (_SOMEBODY,), "", (_SOMEBODY,)) if is_plain else None
    return _ReplyMeaning(lower, is_plain, bool(_HOST.search(lower)), heard)


def _heard(
    lines: Sequence[Line], echoed: Sequence[str], sender: str, ours: Sequence[str]
) -> ReplyHeard | None:
    """Return what was heard in *lines*; ``None``: no whole reply.

    Args:
        lines: After one recipient.
        echoed: As `meaning` has it.
        sender: The same.
        ours: What `same_words` is told to leave out.
    """
    reply = _reply(lines)
    if reply is None:
        return None
    found = meaning(reply, stage="rcpt", echoed=echoed, sender=sender)
    words = gist(reply.text, ours) if reply.code // 100 == _REFUSED else ""
    return _interned(reply.code, reply.enhanced, words, found.kind, found.retry_in_s)


@lru_cache(_REMEMBERED)
def _interned(
    code: int, enhanced: str | None, words: str, kind: ReplyKind, retry_in_s: float | None
) -> ReplyHeard:
    return ReplyHeard(SmtpReply(code, enhanced, words), ReplyMeaning(kind, retry_in_s))


def forget_replies() -> None:
    """Forget what replies were heard."""
    for remembered in (_command, _are_hosts, _remembered, _interned):
        remembered.cache_clear()


def _reply(lines: Sequence[Line]) -> SmtpReply | None:
    try:
        return parse([line.text.encode(errors="replace") for line in lines])
    except MalformedReply:
        return None
