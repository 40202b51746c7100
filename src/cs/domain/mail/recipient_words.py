"""What mail servers say of a recipient: not there, shut, full, busy.

Matched against lower-case text from which everything of ours has been taken out.
"""

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches where any of *patterns* does."""
    return re.compile("|".join(patterns))


_WHO = (
    r"(?:user|recipient|rcpt|mailbox|mail box|mailbox name|inbox|account|addressee|address|"
    r"customer|member|login|alias|subscriber|person|employee)"
)
#: "Not now" is no statement that somebody is not there.
_NOW = r"(?:temporarily|currently|presently|momentarily)"

#: A statement that this recipient is not there.
NO_SUCH_RECIPIENT = any_of(
    rf"(?:unknown|no such|invalid|non-?existent|bad|unroute?able|undeliverable|unrecogni[sz]ed|"
    rf"unverifiable|wrong|incorrect|inexistent|illegal) (?:local |e-?mail |destination |"
    rf"target |virtual |remote |mail ){{0,2}}(?:{_WHO}|alias|"
    r"person|name|here\b|local[- ]part|mail ?drop|(?:or illegal )(?:user|alias))",
    rf"{_WHO}(?:\(s\))? (?:(?!{_NOW})\S+ ){{0,3}}?(?:is |was |are |has |seems |could )?"
    r"(?:been )?(?:be )?"
    r"(?:unknown|not found|not exist|nonexistent|non-existent|invalid|not (?:a )?valid|"
    r"not known|not recogni[sz]ed|not local|not here|no longer|not listed|unavailable|"
    r"undeliverable|not available|expired|closed|deleted|removed|moved|terminated|"
    r"not registered|not hosted here|not active|not accepted|cannot be verified|gone\b|"
    r"not handled|cancell?ed|retired|dormant|archived|does not accept mail|not deliverable|"
    r"not in (?:the |our |this )?(?:\S+ )?(?:list|directory|table|database))",
    r"^\W*(?:is )?not in (?:the |our )?(?:directory|address book)",
    rf"(?:does not|doesn'?t|do not|don'?t|did not|may not|not) (?:currently )?(?:seem to )?"
    rf"(?:exist|have (?:an?|any|such an?) (?:\S+ )?{_WHO})",
    r"no (?:such |valid |matching )?(?:recipient|mailbox|mail box|account|user)s?\b"
    r"(?! .{0,20}?quota)",
    r"not (?:our|an? of our) customer|not (?:an? )?user of this",
    r"mailbox name (?:is )?not allowed",
    rf"{_WHO} (?:\S+ ){{0,4}}?(?:could not|couldn't|can ?not|can't) be (?:found|located)",
    rf"{_WHO} (?:\S+ ){{0,6}}?(?:is not|isn't) (?:active|valid|known)",
    r"(?:isn'?t|is not|not) (?:an? )?(?:known|valid|legal|active|existing|existent|local|"
    r"registered|user|"
    rf"member|customer)(?: (?:e-?mail )?{_WHO}| here| of)",
    r"recipnotfound|recipientnotfound|unknown_?user|address_not_found",
    r"invalid recipients?\b",
    r"not on (?:this|our) (?:server|system)",
    r"(?:nobody|no one|no person) (?:here )?(?:by|with|of|at) (?:that|this) "
    r"(?:name|e-?mail|address)|by that name",
    r"(?:can ?not|can't|could not|unable to) (?:find|locate|verify) (?:\S+ ){0,2}?"
    rf"{_WHO}",
    r"destination (?:address|mailbox) (?:is )?(?:unknown|invalid)",
    r"unknown in (?:local|virtual|relay)",
    r"no longer (?:with|works|employed|valid|exists?|in (?:use|service))",
    r"(?:possibly|probably|may be) (?:incorrect|misspelled|mistyped)",
    r"(?:have|has|found) no (?:record|mailbox|account|user)",
    rf"no {_WHO} (?:by|with|of|for|here|found|called|named)",
    r"not listed in (?:public |the |domino )?(?:\S+ ){0,3}?(?:directory|address book)",
    r"has left (?:the |our )?(?:company|organi[sz]ation|firm|university)",
    r"no (?:user )?record found|(?:recipient|rcpt) (?:address )?verification failed",
    r"does not accept (?:any )?e?-?mail\b(?! from)|\bnull ?mx\b",
    r"find (?:an? )?(?:mailbox|user|account|recipient)",
)
#: The recipient is refused, and the words that may follow say why.
RECIPIENT_REJECTED = any_of(
    r"recipient (?:address )?(?:was )?(?:rejected|refused)",
    r"(?<!ip )address (?:was )?rejected",
)
#: The mailbox was there and has been shut.
DISABLED = any_of(
    rf"{_WHO} (?:\S+ ){{0,5}}?(?:is |was |has been |been )?(?:currently |temporarily |"
    r"permanently )?(?:disabled|deactivated|de-activated|inactive|suspended|locked|"
    r"discontinued|frozen|blocked due to inactivity)",
    rf"(?:disabled|deactivated|inactive|suspended|discontinued|locked|dormant|expired) "
    rf"(?:e-?mail )?{_WHO}",
    rf"{_WHO}disabled",
    r"no longer accept(?:s|ing)? (?:any )?(?:e-?)?mail\b(?! from)",
)
#: It is the recipient who is barred, not we.
RECIPIENT_BLOCKED = any_of(
    r"(?<!your )(?<!sender )(?<!sending )(?<!from )(?:recipient|user|account|mailbox|mail box|"
    r"addressee|subscriber)(?:'s)? (?:e-?mail )?(?:account |mailbox |address )?(?:is |was |has "
    r"been )?(?:currently |temporarily |permanently )?(?:blocked|barred|banned)\b(?! (?:by|"
    r"using|from|your?\b|for (?:spam|send|policy)|due to (?:spam|abuse|policy)|at|because))"
)
FULL = any_of(
    r"quota",
    rf"{_WHO} (?:\S+ ){{0,3}}?(?:is )?(?:currently )?(?:too )?full\b",
    rf"full {_WHO}",
    r"mailfolder is full|mailbox (?:size|storage)|(?:mailbox|account|user|inbox) "
    r"(?:\S+ ){0,3}?(?:over|exceed|out of)",
    r"exhausted (?:\S+ ){0,2}?storage|out of storage",
    r"over (?:its |his |the |their |disk |mailbox )?(?:storage|limit)",
    r"not enough (?:storage |disk )?space in (?:the |this )?(?:mailbox|account)",
    rf"{_WHO} (?:\S+ ){{0,3}}?(?:storage |size |space |capacity )(?:limit|exceeded|reached)",
    r"(?:maximum|max) (?:mailbox|inbox|account|mail ?box) (?:size|capacity|storage)",
    rf"insufficient (?:storage|space|room) (?:\S+ ){{0,3}}?{_WHO}",
    r"(?:no|insufficient|not enough) (?:more )?(?:room|space|storage) (?:left )?(?:in|for) "
    r"(?:\S+ ){0,2}?(?:user|recipient|mailbox|account|inbox)",
    rf"{_WHO} (?:has |is )(?:\S+ ){{0,2}}?(?:no (?:space|room)|reached (?:\S+ )?"
    r"(?:max|limit|quota))",
    r"exceed(?:s|ed|ing)? (?:\S+ ){0,3}?(?:mailbox|storage|disk|allocat)",
)
#: A limit on what is sent: nothing of the mailbox.
SENDING_QUOTA = any_of(
    r"(?:sending|submission|sender(?:'s)?|outbound|outgoing|message|hourly|daily|rate|policy|"
    r"relay|smtp|your|connection) (?:\S+ ){0,2}?quota",
    r"(?:sending|send|submission|rate|daily|hourly) (?:\S+ )?limit",
    r"quota (?:\S+ ){0,3}?(?:per (?:hour|day|minute)|of messages)",
)
#: There is such a mailbox, it seems, and it takes no more for now.
RATE = any_of(
    r"receiving (?:\S+ )?(?:mail|messages|e-?mail) (?:at a rate|too)",
    r"(?:recipient|user|mailbox|account) (?:\S+ ){0,5}?(?:rate limit|too many messages)",
    r"too quickly",
    r"recipient (?:\S+ ){0,2}?rate",
)
