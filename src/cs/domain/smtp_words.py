"""What the words of an SMTP reply say, where its codes say too little.

Words are the last resort (`cs.domain.smtp_reply` asks codes and enhanced codes first),
and whatever the server merely repeats of ours is taken out before any test: a domain
called ``insufficient-storage.example`` is not a full mailbox.
"""

import re
from collections.abc import Iterable

_ADDRESS = re.compile(r"[^\s<>()\[\]\"',;]+@[^\s<>()\[\]\"',;]*")
_LINK = re.compile(r"(?:https?://|www\.)\S+")
#: Characters of one reply that are read.  What comes after has never said anything, and
#: a server may send as much as it likes.
_READ = 2_000
_SPACE = re.compile(r"\s+")
_CHANGING = re.compile(r"\w*\d\w*")  # queue ids, clocks, counters


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


_WHO = (
    r"(?:user|recipient|rcpt|mailbox|mail box|inbox|account|addressee|address|customer|"
    r"member|login)"
)

#: A statement that this recipient is not there.
_NO_SUCH_RECIPIENT = _any_of(
    rf"(?:unknown|no such|invalid|non-?existent|bad|unroute?able|undeliverable|unrecogni[sz]ed|"
    rf"unverifiable|wrong|incorrect|inexistent|illegal) (?:local |e-?mail |destination |"
    rf"target |virtual |remote |mail ){{0,2}}(?:{_WHO}|alias|person|name|here\b)",
    rf"{_WHO}(?:\(s\))? (?:\S+ ){{0,3}}?(?:is |was |are |has |seems |could )?(?:been )?(?:be )?"
    r"(?:unknown|not found|not exist|nonexistent|non-existent|invalid|not (?:a )?valid|"
    r"not known|not recogni[sz]ed|not local|not here|no longer|not listed|unavailable|"
    r"undeliverable|not available|expired|closed|deleted|removed|moved|terminated|"
    r"not registered|not hosted here|not active|not accepted|cannot be verified)",
    rf"(?:does not|doesn'?t|do not|don'?t|did not|may not|not) (?:currently )?(?:seem to )?"
    rf"(?:exist|have (?:an?|any|such an?) (?:\S+ )?{_WHO})",
    r"no (?:such |valid |matching )?(?:recipient|mailbox|mail box|account|user)s?\b"
    r"(?! .{0,20}?quota)",
    r"not our customer",
    r"(?:isn'?t|is not|not) (?:an? )?(?:known|valid|legal|active|existing|existent|local)"
    rf" (?:e-?mail )?{_WHO}",
    r"recipnotfound|recipientnotfound|unknown_?user",
    r"recipient (?:address )?(?:was )?rejected",
    r"invalid recipients?\b",
    r"not on (?:this|our) (?:server|system)",
    r"(?:nobody|no one|no person) (?:here )?(?:by|with|of) (?:that|this) name|by that name",
    r"(?:can ?not|can't|could not|unable to) (?:find|locate|verify) (?:\S+ ){0,2}?"
    rf"{_WHO}",
    r"destination (?:address|mailbox) (?:is )?(?:unknown|invalid)",
    r"unknown in (?:local|virtual|relay)",
    r"address (?:was )?rejected",
    r"no longer (?:with|works|employed)",
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"(?:empf(?:ä|ae)nger|benutzer|postfach|adresse)\S* (?:\S+ ){0,2}?"
    r"(?:unbekannt|existiert nicht|"
    r"nicht (?:bekannt|gefunden|vorhanden))",
    r"(?:utilisateur|destinataire|adresse|compte)\S* (?:\S+ ){0,2}?(?:inconnue?|inexistante?|"
    r"introuvable|n'existe pas)",
    r"(?:usuario|destinatario|buz(?:ó|o)n|cuenta) (?:\S+ ){0,2}?(?:desconocid[oa]|no existe|"
    r"inexistente)",
    r"(?:utente|destinatario|casella|indirizzo) (?:\S+ ){0,2}?(?:sconosciut[oa]|inesistente|"
    r"non esiste|non valido)",
    r"(?:usu(?:á|a)rio|destinat(?:á|a)rio|conta|caixa) (?:\S+ ){0,2}?(?:desconhecid[oa]|"
    r"n(?:ã|a)o existe|inexistente)",
    r"(?:gebruiker|ontvanger) (?:\S+ ){0,2}?(?:onbekend|bestaat niet)",
)
#: The mailbox was there and has been shut.
_DISABLED = _any_of(
    rf"{_WHO} (?:\S+ ){{0,5}}?(?:is |was |has been |been )?(?:currently |temporarily |"
    r"permanently )?(?:disabled|deactivated|de-activated|inactive|suspended|locked|"
    r"discontinued|frozen|blocked due to inactivity)",
    rf"(?:disabled|deactivated|inactive|suspended|discontinued|locked) {_WHO}",
    rf"{_WHO}disabled",
)
_FULL = _any_of(
    r"quota",
    rf"{_WHO} (?:\S+ ){{0,3}}?(?:is )?(?:currently )?(?:too )?full\b",
    rf"full {_WHO}",
    r"mailfolder is full|mailbox (?:size|storage)|(?:mailbox|account|user|inbox) "
    r"(?:\S+ ){0,3}?(?:over|exceed|out of)",
    r"out of storage|over (?:its |his |the |their |disk |mailbox )?(?:storage|limit)",
    r"not enough (?:storage |disk )?space in (?:the |this )?(?:mailbox|account)",
    r"(?:postfach|speicherplatz) (?:\S+ ){0,3}?(?:voll|ersch(?:ö|oe)pft|(?:ü|ue)berschritten)",
    r"bo(?:î|i)te (?:\S+ ){0,2}?pleine|casella piena|buz(?:ó|o)n (?:est(?:á|a) )?lleno",
)
#: The server as a whole is short of room, which says nothing of one mailbox.
_SYSTEM_FULL = _any_of(
    r"system (?:storage|resource|disk)",
    r"(?:disk|server|queue|spool|file system|partition) (?:\S+ ){0,2}?(?:full|space|storage)",
    r"insufficient (?:disk|queue|memory|resources)",
)
_SIZE = _any_of(
    r"message (?:\S+ ){0,4}?(?:size|large|big|length)",
    r"message (?:\S+ ){0,2}?exceeds?",
    r"too (?:large|big|long)",
    r"(?:fixed |maximum )(?:allowed )?(?:message |mail |size)",
)
_GREYLISTED = _any_of(
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
_LOCAL_TROUBLE = _any_of(
    r"local (?:problem|error)",
    r"look-?up",
    r"internal (?:error|server)",
    r"configuration (?:error|problem)",
    r"database|ldap|mysql|backend|back-end",
    r"error in processing|unable to (?:process|access)",
)
_IN_PROGRESS = _any_of(
    r"unverified address",
    r"verification (?:is )?in progress",
    r"being verified",
    r"callout (?:is )?in progress",
)
_RATE = _any_of(
    r"receiving (?:\S+ )?(?:mail|messages|e-?mail) (?:at a rate|too)",
    r"(?:recipient|user|mailbox|account) (?:\S+ ){0,5}?(?:rate limit|too many messages)",
    r"too quickly",
    r"recipient (?:\S+ ){0,2}?rate",
)
_TOO_MANY = _any_of(
    r"too many (?:\S+ )?(?:recipients|rcpts?)\b",
    r"(?:one|1|single) recipient (?:at a time|per)",
    r"(?:maximum|max|limit) (?:\S+ ){0,3}?recipients",
    r"only one recipient",
    r"too many rcpt",
)
_STARTTLS = _any_of(
    r"(?:must|need|please|should) (?:\S+ ){0,3}?(?:issue|use|start|send) "
    r"(?:\S+ ){0,3}?(?:start ?tls|tls|encrypt)",
    r"(?:start ?tls|tls|encryption|encrypted connection) (?:\S+ ){0,4}?"
    r"(?:required|needed|mandatory)",
    r"requires? (?:\S+ ){0,3}?(?:start ?tls|tls|encrypt)",
    r"start ?tls (?:command )?first",
)
_SENDER = _any_of(
    r"\bsender\b",
    r"mail ?from\b",
    r"return[- ]path",
    r"envelope[- ]?from",
    r"from address",
    r"originator",
    r"call-?(?:back|out)",
    r"verification failed",
    r"absender|exp(?:é|e)diteur|remitente|mittente",
)
_ABOUT_US = _any_of(
    r"\bspf\b|\bdkim\b|\bdmarc\b",
    r"reverse[- ](?:dns|host|lookup|address)|\brdns\b|\bptr\b|\bfcrdns\b",
    r"\bhelo\b|\behlo\b",
    r"client (?:host|ip|address)",
    r"your (?:ip|host|network|domain|server|isp|reverse|ptr|access|connection|"
    r"(?:e-?)?mail ?server|reputation|message (?:was|has been) (?:rejected|blocked))",
    r"(?:black|block|deny|reject|ban)[- ]?list",
    r"\bblocked\b(?! due to inactivity)|\bbanned\b|\blisted\b",
    r"\brbl|dnsbl|spamhaus|spamcop|barracuda|sorbs|senderscore|cloudmark",
    r"\bspam|unsolicited|reputation|junk",
    r"\bpolicy|policies",
    r"authenti|\bauth\b|log ?in first|smtp after pop|pop before",
    r"(?:access|permission|connection|relay\w*) (?:\S+ )?denied",
    r"not (?:allowed|permitted|authori[sz]ed) to",
    r"administrative(?:ly)? prohibit|prohibited|forbidden",
    r"virus|malware|phish",
    r"throttl|rate limit|too many (?:connections|errors|messages|invalid|unknown)",
)
_NOT_HOSTED = _any_of(
    r"rcpthosts",
    r"\brelay(?:ing|ed)?\b(?! recipient| access map)",
    r"(?:domain|host) (?:\S+ ){0,3}?(?:not (?:hosted|found|handled|local|served|accepted)|"
    r"isn'?t)",
    r"(?:don'?t|do not|does not|not) (?:\S+ ){0,2}?(?:handle|host|accept|serve) "
    r"(?:\S+ ){0,3}?domain",
    r"we (?:do not|don't) (?:handle|host)",
)
_RCPTHOSTS = re.compile(r"rcpthosts")  # qmail's list of the domains it takes mail for
_DBEB = re.compile(r"recipient address rejected: access denied")
_SENDER_REJECTED = _any_of(
    r"sender (?:address )?(?:rejected|refused|verif)", r"verification failed for"
)
_EMPTY_BRACKETS = re.compile(r"[<(\[\"'][\s<>]*[>)\]\"']:?")


class Words:
    """The text of one reply, told apart into what it is about.

    Args:
        text: As the server said it.
        echoed: Ours, and possibly repeated by the server: addresses, domains, names of
            hosts.  Taken out before any test, whatever the case.
    """

    def __init__(self, text: str, echoed: Iterable[str] = ()) -> None:
        heard = _without(text[:_READ].casefold(), echoed)
        self._all = _SPACE.sub(" ", heard).strip()  # links may name a block list
        self._plain = _SPACE.sub(" ", _LINK.sub(" ", heard)).strip()

    @property
    def silent(self) -> bool:
        """Whether there is nothing to read but the code."""
        return not re.search(r"[^\W\d_]{2}", self._plain)

    @property
    def gist(self) -> str:
        """What stays the same when the reply is given again about someone else."""
        return _SPACE.sub(" ", _CHANGING.sub("#", self._all)).strip()

    @property
    def about_sender(self) -> bool:
        return bool(_SENDER.search(self._all))

    @property
    def sender_rejected(self) -> bool:
        """Whether it is expressly the sender that is refused, not merely mentioned."""
        return bool(_SENDER_REJECTED.search(self._all))

    @property
    def about_us(self) -> bool:
        return bool(_ABOUT_US.search(self._all))

    @property
    def no_such_recipient(self) -> bool:
        return bool(_NO_SUCH_RECIPIENT.search(self._plain))

    @property
    def disabled(self) -> bool:
        return bool(_DISABLED.search(self._plain))

    @property
    def full(self) -> bool:
        return bool(_FULL.search(self._plain)) and not self.system_full

    @property
    def system_full(self) -> bool:
        return bool(_SYSTEM_FULL.search(self._plain))

    @property
    def size(self) -> bool:
        return bool(_SIZE.search(self._plain))

    @property
    def greylisted(self) -> bool:
        return bool(_GREYLISTED.search(self._all))

    @property
    def local_trouble(self) -> bool:
        return bool(_LOCAL_TROUBLE.search(self._plain))

    @property
    def in_progress(self) -> bool:
        return bool(_IN_PROGRESS.search(self._plain))

    @property
    def rate(self) -> bool:
        return bool(_RATE.search(self._plain))

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
            text = re.sub(rf"([<(\[\"']){re.escape(local)}([>)\]\"'])", r"\1 \2", text)
        if "." in domain:
            text = re.sub(rf"(?<![\w-])[\w.-]*{re.escape(domain)}(?![\w-])", " ", text)
    return _EMPTY_BRACKETS.sub(" ", _ADDRESS.sub(" ", text))
