"""What the words of an SMTP reply say, where its codes say too little.

Words are the last resort (`cs.domain.mail.reply` asks codes and enhanced codes first),
and whatever the server merely repeats of ours is taken out before any test: a domain
called ``insufficient-storage.example`` is not a full mailbox.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from cs.domain.mail import foreign_words
from cs.domain.mail.foreign_words import folded
from cs.domain.mail.recipient_words import (
    DISABLED,
    FULL,
    NO_SUCH_RECIPIENT,
    RATE,
    RECIPIENT_BLOCKED,
    RECIPIENT_REJECTED,
    SENDING_QUOTA,
    any_of,
)

_ADDRESS = re.compile(r"[^\s<>()\[\]\"',;]+@[^\s<>()\[\]\"',;]*")
_LINK = re.compile(r"(?:https?://|www\.)\S+")
#: Characters of one reply that are read.  What comes after has never said anything, and
#: a server may send as much as it likes.
_READ = 2_000
_SPACE = re.compile(r"\s+")
_CHANGING = re.compile(r"\w*\d\w*")  # queue ids, clocks, counters


#: The server is short of room for everybody, which says nothing of one mailbox.
_SYSTEM_FULL = any_of(
    r"system (?:storage|resource|disk|quota)",
    r"(?:disk|server|queue|spool|file system|partition) (?:\S+ ){0,2}?(?:full|space|storage)",
    r"insufficient (?:disk|queue|memory|resources)",
)
_SIZE = any_of(
    r"message (?:\S+ ){0,4}?(?:size|large|big|length)",
    r"message (?:\S+ ){0,2}?exceeds?",
    r"too (?:large|big|long)",
    r"(?:fixed |maximum )(?:allowed )?(?:message |mail |size)",
)
#: A size that is the mailbox's, not the message's.
_MAILBOX_SIZE = any_of(
    r"message (?:\S+ ){0,3}?exceeds? (?:\S+ ){0,3}?mailbox (?:quota|size)",
    r"mailbox (?:\S+ ){0,5}?(?:maximum|size)(?: size)?",
)
_GREYLISTED = any_of(
    r"gr[ea]y-? ?list",
    r"post-?gr[ea]y",
    r"sqlgrey",
    r"try (?:it )?again",
    r"try (?:\S+ )?later",
    r"retry",
    r"come back (?:later|in|after)",
    r"not yet authori[sz]ed",
    r"early (?:retry|talker)",
    r"deferred for",
    r"delayed for",
)
_LOCAL_TROUBLE = any_of(
    r"local (?:problem|error)",
    r"look-?up",
    r"internal (?:error|server)",
    r"configuration (?:error|problem)",
    r"database|ldap|mysql|backend|back-end",
    r"error in processing|unable to (?:process|access)",
)
_IN_PROGRESS = any_of(
    r"unverified address",
    r"verification (?:is )?in progress",
    r"being verified",
    r"callout (?:is )?in progress",
)
_TOO_MANY = any_of(
    r"too many (?:\S+ )?(?:recipients|rcpts?)\b",
    r"(?:one|1|single) recipient (?:at a time|per)",
    r"(?:maximum|max|limit) (?:\S+ ){0,3}?recipients",
    r"only one recipient",
    r"too many rcpt",
)
_STARTTLS = any_of(
    r"(?:must|need|please|should) (?:\S+ ){0,3}?(?:issue|use|start|send) "
    r"(?:\S+ ){0,3}?(?:start ?tls|tls|encrypt)",
    r"(?:start ?tls|tls|encryption|encrypted connection) (?:\S+ ){0,4}?"
    r"(?:required|needed|mandatory)",
    r"requires? (?:\S+ ){0,3}?(?:start ?tls|tls|encrypt)",
    r"start ?tls (?:command )?first",
)
_SENDER = any_of(
    r"\bsender\b|sending (?:account|server|domain|host|address)",
    r"mail ?from\b",
    r"return[- ]path",
    r"envelope[- ]?from",
    r"from address",
    r"originator",
    r"call-?back",
    r"(?<!recipient )(?<!recipient address )(?<!rcpt )(?<!callout )verification failed",
    r"sender verif",
)
#: The sender is spoken of, and not refused.
_SENDER_TOLD = any_of(
    r"(?:return|sen[dt]|bounc)\w* (?:\S+ )?(?:back )?to (?:the |its )?sender",
    r"(?:notify|notified|inform|tell|ask|contact|advise)(?:ing)? (?:the )?sender",
    r"sender (?:should|must|may|can|is advised|will be|please)",
)
_ABOUT_US = any_of(
    r"\bip\b",
    r"\bspf\b|\bdkim\b|\bdmarc\b",
    r"reverse[- ](?:dns|host|lookup|address)|\brdns\b|\bptr\b|\bfcrdns\b",
    r"\bhelo\b|\behlo\b",
    r"client (?:host|ip|address)",
    r"your (?:ip|host|network|domain|server|isp|reverse|ptr|access|connection|"
    r"(?:e-?)?mail ?server|reputation|mailbox|account|quota)\b",
    r"(?:black|block|deny|reject|ban)[- ]?list",
    r"\bblocked\b(?! due to inactivity)|\bbanned\b|(?<!not )\blisted\b",
    r"\brbl|dnsbl|spamhaus|spamcop|barracuda|sorbs|senderscore|cloudmark",
    r"\bspam|unsolicited|reputation|junk",
    r"\bpolicy|policies",
    r"authenti|\bauth\b|log ?in first|smtp after pop|pop before",
    r"(?:access|permission|connection|relay\w*) (?:\S+ )?denied",
    r"not (?:allowed|permitted|authori[sz]ed) to",
    r"administrative(?:ly)? (?:prohibit|denied)|prohibited|forbidden",
    r"backscatter|bounce attack|virus|malware|phish|quarantin|content filter",
    r"throttl|rate limit|frequency|too many (?:connections|errors|messages|invalid|unknown)",
    r"inbounds? disabled|restricted|internal (?:senders?|use|mail) only|only internal",
    SENDING_QUOTA.pattern,
)
#: It is we who are refused, but what is said of the recipient beside it may be why.
_REFUSES_US = any_of(r"your (?:message|mail) (?:was|has been) (?:rejected|blocked)")
_NOT_HOSTED = any_of(
    r"rcpthosts",
    r"\brelay(?:ing|ed)?\b(?! recipient| access map|=)",
    r"(?:domain|host) (?:\S+ ){0,3}?(?:not (?:hosted|found|handled|local|served|accepted|"
    r"exist)|doesn'?t exist|isn'?t|unknown)",
    r"(?:no such|unknown|invalid|non-?local|foreign) (?:mail )?domain",
    r"(?:don'?t|do not|does not|not) (?:\S+ ){0,2}?(?:handle|host|accept|serve) "
    r"(?:\S+ ){0,3}?domain",
    r"we (?:do not|don't) (?:handle|host)",
)
_RCPTHOSTS = re.compile(r"rcpthosts")  # qmail's list of the domains it takes mail for
_DBEB = re.compile(r"recipient address rejected: access denied")
_SENDER_REJECTED = any_of(
    r"sender (?:address )?(?:rejected|refused|verif)", r"verification failed for"
)
#: What holds at this moment is no statement that somebody is not there.
_FOR_NOW = any_of(
    r"at (?:this|the) (?:time|moment)|right now|server (?:is )?(?:unavailable|down)"
)
_EMPTY_BRACKETS = re.compile(r"[<(\[\"'][\s<>]*[>)\]\"']:?")


class ReplyText:
    """The text of one reply: each property says whether it is about one thing.

    Args:
        text: As the server said it.
        echoed: Ours, and possibly repeated by the server: addresses, domains, names of
            hosts.  Taken out before any test, whatever the case.
    """

    def __init__(self, text: str, echoed: Iterable[str] = ()) -> None:
        ours_removed = _without(text[:_READ].casefold(), echoed)
        text = _SENDER_TOLD.sub(" ", ours_removed)
        self._all = _SPACE.sub(" ", text).strip()  # links may name a block list
        self._plain = _SPACE.sub(" ", _LINK.sub(" ", text)).strip()
        self._ours_removed = ours_removed

    @cached_property
    def _folded(self) -> str:
        return folded(self._plain)

    @property
    def silent(self) -> bool:
        """Whether there is nothing to read but the code."""
        return not re.search(r"[^\W\d_]{2}", self._plain)

    @property
    def gist(self) -> str:
        """What stays the same when the server replies so about someone else."""
        return _SPACE.sub(" ", _CHANGING.sub("#", self._ours_removed)).strip()

    @property
    def about_sender(self) -> bool:
        return bool(_SENDER.search(self._all) or foreign_words.SENDER.search(self._folded))

    @property
    def sender_rejected(self) -> bool:
        """Whether it is expressly the sender that is refused, not merely mentioned."""
        return bool(_SENDER_REJECTED.search(self._all))

    @property
    def about_us(self) -> bool:
        """Whether it is about our address, name or message, whatever else it says."""
        text = RECIPIENT_BLOCKED.sub(" ", self._all)
        return bool(_ABOUT_US.search(text) or foreign_words.ABOUT_US.search(self._folded))

    @property
    def refuses_us(self) -> bool:
        """Whether we are refused, for a reason that may be the recipient."""
        return bool(_REFUSES_US.search(self._all))

    @property
    def no_such_recipient(self) -> bool:
        there_now = NO_SUCH_RECIPIENT.search(self._plain)
        if there_now and _FOR_NOW.search(self._plain):
            return False
        return bool(there_now or foreign_words.NOT_THERE.search(self._folded))

    @property
    def recipient_rejected(self) -> bool:
        """Whether the recipient is refused, without a word on why."""
        return bool(RECIPIENT_REJECTED.search(self._plain))

    @property
    def disabled(self) -> bool:
        return bool(
            DISABLED.search(self._plain)
            or RECIPIENT_BLOCKED.search(self._plain)
            or foreign_words.SHUT.search(self._folded)
        )

    @property
    def full(self) -> bool:
        full = FULL.search(self._plain) or foreign_words.FULL.search(self._folded)
        return bool(full) and not self.system_full and not self.sending_quota

    @property
    def sending_quota(self) -> bool:
        return bool(SENDING_QUOTA.search(self._plain))

    @property
    def system_full(self) -> bool:
        return bool(_SYSTEM_FULL.search(self._plain))

    @property
    def size(self) -> bool:
        return bool(_SIZE.search(_MAILBOX_SIZE.sub(" ", self._plain)))

    @property
    def greylisted(self) -> bool:
        return bool(_GREYLISTED.search(self._all) or foreign_words.LATER.search(self._folded))

    @property
    def local_trouble(self) -> bool:
        return bool(_LOCAL_TROUBLE.search(self._plain))

    @property
    def in_progress(self) -> bool:
        return bool(_IN_PROGRESS.search(self._plain))

    @property
    def rate(self) -> bool:
        return bool(RATE.search(self._plain))

    @property
    def too_many(self) -> bool:
        return bool(_TOO_MANY.search(self._plain))

    @property
    def starttls(self) -> bool:
        return bool(_STARTTLS.search(self._plain))

    @property
    def not_hosted(self) -> bool:
        return bool(_NOT_HOSTED.search(self._plain))

    @property
    def rcpthosts(self) -> bool:
        return bool(_RCPTHOSTS.search(self._plain))

    @property
    def no_directory_entry(self) -> bool:
        """Exchange Online's directory-based edge blocking, in its exact words."""
        return bool(_DBEB.search(self._plain))


def _without(text: str, echoed: Iterable[str]) -> str:
    for ours in sorted((e.casefold() for e in echoed if e), key=len, reverse=True):
        local, at, domain = ours.rpartition("@")
        if at:
            text = text.replace(ours, " ")
            # A lone local part only where it is marked as one: "user" in "user unknown"
            # is a word.
            if local in text:
                text = re.sub(rf"([<(\[\"']){re.escape(local)}([>)\]\"'])", r"\1 \2", text)
        if "." in domain and domain in text:
            text = re.sub(rf"(?<![\w-])[\w.-]*{re.escape(domain)}(?![\w-])", " ", text)
    return _EMPTY_BRACKETS.sub(" ", _ADDRESS.sub(" ", text))
