"""Tables of mailboxes, what proves them, their mail domains, and mail that came back."""

from cs.history.export.table import TypedTable, columns

MAILBOXES = TypedTable(
    "mailboxes",
    "What verification found for one person at one mail domain. Of who was erased, only "
    "whether they were verified is left.",
    columns("""
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
checked_at TIMESTAMP when it was settled
verified BOOLEAN whether a mailbox was proved to be theirs
verdict VARCHAR `deliverable`, `undeliverable`, `catch_all`, `mailbox_full`, `unknown`
mail_domain VARCHAR the part behind the @
verifier VARCHAR who found it verified
rule VARCHAR why: the reason of the evidence that the verdict rests on
rules VARCHAR the version of the rules that chose among the evidence; empty: not recorded
asked INTEGER how many pieces of evidence there are
address VARCHAR* the verified address
position BIGINT of the event that says so
"""),
    """
SELECT c.person, c.lookup, c.happened_at AS checked_at, c.verified,
       CASE WHEN g.person IS NULL THEN c.verdict END AS verdict,
       CASE WHEN g.person IS NULL THEN c.mail_domain END AS mail_domain,
       CASE WHEN g.person IS NULL THEN c.verifier END AS verifier,
       CASE WHEN g.person IS NULL THEN c.rule END AS rule,
       CASE WHEN g.person IS NULL THEN c.rules END AS rules,
       CASE WHEN g.person IS NULL THEN c.asked END AS asked,
       CASE WHEN g.person IS NULL THEN c.address END AS address,
       c.position
FROM checked c LEFT JOIN (SELECT DISTINCT person FROM erased) g USING (person)
""",
    by_lookup=("checked", "erased"),
)

EVIDENCE = TypedTable(
    "evidence",
    "What one verifier found out about one address. There is none of who was erased.",
    columns("""
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
n INTEGER counts the evidence of this person at this mail domain from 1
found_at TIMESTAMP when it was found
mail_domain VARCHAR the part behind the @
verdict VARCHAR as in `mailboxes`
rule VARCHAR why, in a word: `recipient-refused`, `greylisted`, …
rules VARCHAR the version of the rules that read the reply; empty: not recorded
verifier VARCHAR who found it
mx VARCHAR the mail exchanger that answered
answered BOOLEAN whether there was any reply
retry_in_s DOUBLE seconds after which it was worth asking again
address VARCHAR* the address
conversation VARCHAR* JSON: the lines of the conversation with the mail server
position BIGINT of the event that holds it
"""),
    """
SELECT e.person, e.lookup, e.n, e.happened_at AS found_at, e.mail_domain, e.verdict, e.rule,
       e.rules, e.verifier, e.mx, e.answered, e.retry_in_s, e.address, e.conversation,
       e.position
FROM evidence e ANTI JOIN erased g USING (person)
""",
    order="position, n",
    by_lookup=("evidence", "erased"),
)

MAIL_DOMAINS = TypedTable(
    "mail_domains",
    "What became known of a mail domain.",
    columns("""
mail_domain VARCHAR the part behind the @
learned_at TIMESTAMP when
catch_all BOOLEAN whether it accepts every local part; empty: not known
greylists BOOLEAN whether it tells strangers to come back later; empty: not known
one_recipient BOOLEAN whether it takes one recipient a session; empty: not known
pattern VARCHAR of the local parts: `first.last`, `flast`, …; empty: not known
expires_at TIMESTAMP until when it is believed
position BIGINT of the event that says so
"""),
    """
SELECT mail_domain, happened_at AS learned_at, catch_all, greylists, one_recipient, pattern,
       expires_at, position
FROM learned
""",
)

BOUNCES = TypedTable(
    "bounces",
    "A mail that came back from a mailbox which a search had returned, as the operator told.",
    columns("""
mail_domain VARCHAR the part behind the @
told_at TIMESTAMP when it was told
bounced_at TIMESTAMP when it came back; when it was told, if nobody said
kind VARCHAR what follows from it: `permanent`, `temporary`, `other`
why VARCHAR what it was, in a word: `recipient-refused`, `mailbox-full`, …
status VARCHAR the enhanced code, if one was told
pattern VARCHAR that the local part follows, if it follows one
position BIGINT of the event that says so
"""),
    """
SELECT mail_domain, happened_at AS told_at, bounced_at, kind, why, status, pattern, position
FROM bounce
""",
)

BOUNCED_CONTACTS = TypedTable(
    "bounced_contacts",
    "A contact of a result who lost a verified e-mail, as mail to it came back for good.",
    columns("""
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
told_at TIMESTAMP when it was told
bounced_at TIMESTAMP when it came back; when it was told, if nobody said
why VARCHAR as in `bounces`
status VARCHAR the enhanced code, if one was told
verifier VARCHAR who had found it verified
rule VARCHAR by which rule; empty: not recorded
rules VARCHAR of which version of the rules; empty: not recorded
verified_at TIMESTAMP when
address VARCHAR* the address
diagnostic VARCHAR* what its mail server said
position BIGINT of the event that says so
"""),
    """
SELECT b.person, b.lookup, b.happened_at AS told_at, b.bounced_at, b.why, b.status, b.verifier,
       b.rule, b.rules, b.verified_at,
       CASE WHEN g.person IS NULL THEN b.address END AS address,
       CASE WHEN g.person IS NULL THEN b.diagnostic END AS diagnostic,
       b.position
FROM bounced b LEFT JOIN (SELECT DISTINCT person FROM erased) g USING (person)
""",
    by_lookup=("bounced", "erased"),
)
