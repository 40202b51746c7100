"""What mail servers say of a recipient: not there, shut, full, busy.

Matched against lower-case text from which everything of ours has been taken out.
"""

import re


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches where any of *patterns* does."""
    return re.compile("|".join(patterns))


_WHO = (
    r"(?:user|recipient|rcpt|mailbox|mail box|inbox|account|addressee|address|customer|"
    r"member|login)"
)

#: A statement that this recipient is not there.
NO_SUCH_RECIPIENT = any_of(
    rf"(?:unknown|no such|invalid|non-?existent|bad|unroute?able|undeliverable|unrecogni[sz]ed|"
    rf"unverifiable|wrong|incorrect|inexistent|illegal) (?:local |e-?mail |destination |"
    rf"target |virtual |remote |mail ){{0,2}}(?:{_WHO}|alias|"
    r"person|name|here\b|local[- ]part|mail ?drop|(?:or illegal )(?:user|alias))",
    rf"{_WHO}(?:\(s\))? (?:\S+ ){{0,3}}?(?:is |was |are |has |seems |could )?(?:been )?(?:be )?"
    r"(?:unknown|not found|not exist|nonexistent|non-existent|invalid|not (?:a )?valid|"
    r"not known|not recogni[sz]ed|not local|not here|no longer|not listed|unavailable|"
    r"undeliverable|not available|expired|closed|deleted|removed|moved|terminated|"
    r"not registered|not hosted here|not active|not accepted|cannot be verified)",
    rf"(?:does not|doesn'?t|do not|don'?t|did not|may not|not) (?:currently )?(?:seem to )?"
    rf"(?:exist|have (?:an?|any|such an?) (?:\S+ )?{_WHO})",
    r"no (?:such |valid |matching )?(?:recipient|mailbox|mail box|account|user)s?\b"
    r"(?! .{0,20}?quota)",
    r"not (?:our|an? of our) customer|not (?:an? )?user of this",
    r"mailbox name (?:is )?not allowed",
    rf"{_WHO} (?:\S+ ){{0,4}}?(?:could not|couldn't|can ?not|can't) be (?:found|located)",
    rf"{_WHO} (?:\S+ ){{0,6}}?(?:is not|isn't) (?:active|valid|known)",
    r"(?:isn'?t|is not|not) (?:an? )?(?:known|valid|legal|active|existing|existent|local)"
    rf" (?:e-?mail )?{_WHO}",
    r"recipnotfound|recipientnotfound|unknown_?user|address_not_found",
    r"recipient (?:address )?(?:was )?rejected",
    r"invalid recipients?\b",
    r"not on (?:this|our) (?:server|system)",
    r"(?:nobody|no one|no person) (?:here )?(?:by|with|of) (?:that|this) "
    r"(?:name|e-?mail|address)|by that name",
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
DISABLED = any_of(
    rf"{_WHO} (?:\S+ ){{0,5}}?(?:is |was |has been |been )?(?:currently |temporarily |"
    r"permanently )?(?:disabled|deactivated|de-activated|inactive|suspended|locked|"
    r"discontinued|frozen|blocked due to inactivity)",
    rf"(?:disabled|deactivated|inactive|suspended|discontinued|locked) {_WHO}",
    rf"{_WHO}disabled",
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
    r"(?:postfach|speicherplatz) (?:\S+ ){0,3}?(?:voll|ersch(?:ö|oe)pft|(?:ü|ue)berschritten)",
    r"bo(?:î|i)te (?:\S+ ){0,2}?pleine|casella piena|buz(?:ó|o)n (?:est(?:á|a) )?lleno",
)
#: There is such a mailbox, it seems, and it takes no more for now.
RATE = any_of(
    r"receiving (?:\S+ )?(?:mail|messages|e-?mail) (?:at a rate|too)",
    r"(?:recipient|user|mailbox|account) (?:\S+ ){0,5}?(?:rate limit|too many messages)",
    r"too quickly",
    r"recipient (?:\S+ ){0,2}?rate",
)
