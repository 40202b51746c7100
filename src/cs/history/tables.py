"""The typed tables of an export: their columns, and what is made of the rows at its end.

The column lists are also the page docs/export-tables.md, which `make format` writes.
"""

from collections.abc import Mapping, Sequence

import msgspec


class Column(msgspec.Struct, frozen=True):
    """One column.

    Attributes:
        type: As DuckDB has it.
        about: Its meaning, for people.
        personal: Empty unless people are revealed.
        is_erased: Empty once the person of its row is erased.
    """

    name: str
    type: str
    about: str
    personal: bool = False
    is_erased: bool = False


class TypedTable(msgspec.Struct, frozen=True):
    """One typed table.

    Attributes:
        about: What a row is, for people.
        order: SQL of the order of its rows.
        made: SQL that selects its rows of the rows that were gathered, if they are not those.
    """

    name: str
    about: str
    columns: Sequence[Column]
    order: str = "position"
    made: str = ""

    @property
    def definition(self) -> str:
        """Return SQL of its columns."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)

    @property
    def selected(self) -> str:
        """Return SQL that selects its rows in order, without what erased people had."""
        emptied = any(column.is_erased for column in self.columns)
        columns = ", ".join(
            f"CASE WHEN gone.person IS NULL THEN t.{c.name} END AS {c.name}"
            if c.is_erased
            else f"t.{c.name}::{c.type} AS {c.name}"
            for c in self.columns
        )
        rows = f"({self.made})" if self.made else f"gathered.{self.name}"
        gone = "LEFT JOIN gathered.gone ON gone.person = t.person" if emptied else ""
        order = ", ".join(f"t.{each}" for each in self.order.split(", "))
        return f"SELECT {columns} FROM {rows} t {gone} ORDER BY {order}"


def _table(name: str, about: str, columns: str, **more: str) -> TypedTable:
    """Return a table; *columns* has a line each of name, type and meaning.

    ``*`` behind a type: personal.  ``!``: empty once the person is erased, as those are too.
    """
    found = []
    for line in columns.strip().splitlines():
        column, kind, meaning = line.split(maxsplit=2)
        personal = kind.endswith("*")
        erased = personal or kind.endswith("!")
        found.append(Column(column, kind.rstrip("*!"), meaning, personal, erased))
    return TypedTable(name, about, found, **more)


#: In the order of the page that describes them.
TABLES: Mapping[str, TypedTable] = {
    table.name: table
    for table in (
        _table(
            "searches",
            "A search: one key's request for one brand.",
            """
search VARCHAR its id, `srch_…`
key VARCHAR the API key's id
brand VARCHAR as the caller was shown it
asked_brand VARCHAR the brand that was asked for, if one was
asked_domain VARCHAR the web domain that was asked for, if one was
lookup VARCHAR the lookup that answers it
asked_at TIMESTAMP when it was taken
settled_at TIMESTAMP when it ended; empty: it runs
seconds DOUBLE from the one to the other
outcome VARCHAR `done`, or why it failed
charged BOOLEAN whether it cost a unit of quota
cached BOOLEAN whether an earlier lookup answered it
joined BOOLEAN whether it waited for a lookup that another search had started
repeats BIGINT how often it was asked for again while it ran
idempotent BOOLEAN whether it came with an `Idempotency-Key`
request VARCHAR the id of its call, `X-Request-Id`
position BIGINT of the event that took it
settled_position BIGINT of the event that ended it
""",
            made="""
SELECT s.* REPLACE (coalesce(NOT s.cached, true) AND s.position > l.position AS joined)
FROM gathered.searches s LEFT JOIN gathered.lookups l USING (lookup)
""",
        ),
        _table(
            "lookups",
            "A lookup: one live run on one brand, which may answer many searches.",
            """
lookup VARCHAR its id
stream VARCHAR the stream of its brand
number INTEGER counts the lookups of this stream from 1
asked_brand VARCHAR the brand that was asked for, if one was
asked_domain VARCHAR the web domain that was asked for, if one was
started_at TIMESTAMP when it began
deadline_at TIMESTAMP when its time was up
ended_at TIMESTAMP when it ended; empty: it runs
seconds DOUBLE from its beginning to its end
outcome VARCHAR `done`, or why it failed
reusable BOOLEAN whether its result answers later searches
cut_off BOOLEAN whether its deadline ended it
found INTEGER people found
ranked INTEGER people of a role that is looked for
shown INTEGER contacts in its result, when it was made
verified INTEGER contacts with a verified e-mail, then
searches INTEGER searches that it answered or is to answer, reuse included
reused INTEGER searches that it answered from reuse
status VARCHAR how brand resolution ended: `matched`, `no_match`, `ambiguous`
rules VARCHAR the version of the rules that chose the brand; empty: not recorded
brand VARCHAR the brand that was matched
domain VARCHAR its web domain
linkedin_company_url VARCHAR its company page
parent_company VARCHAR its parent, where the marketing team sits there
instagram VARCHAR its Instagram
tiktok VARCHAR its TikTok
mail_domains VARCHAR[] where its people's mailboxes may be, likeliest first
position BIGINT of the event that began it
ended_position BIGINT of the event that ended it
""",
            made="""
SELECT l.* REPLACE (coalesce(s.searches, 0) AS searches, coalesce(s.reused, 0) AS reused)
FROM gathered.lookups l LEFT JOIN (
    SELECT lookup, count(*) AS searches, count(*) FILTER (cached) AS reused
    FROM gathered.searches GROUP BY lookup
) s USING (lookup)
""",
        ),
        _table(
            "stages",
            "An attempt at a stage of a lookup, or at one mail domain of it.",
            """
lookup VARCHAR the lookup
stage VARCHAR `brand-resolution`, `contact-discovery`, `ranking` or `verification`
mail_domain VARCHAR of a verification
attempt INTEGER counts from 1
issued_at TIMESTAMP when the work was given out
deadline_at TIMESTAMP when this attempt's time was up
ended_at TIMESTAMP when it ended; empty: it is open
seconds DOUBLE from the one to the other, waiting for a worker included
ended VARCHAR `answered`, `failed`, `replaced` by another attempt, or `cut-off` with its lookup
why VARCHAR of a failed one
retry_at TIMESTAMP of a failed one: when the next was to follow
causes VARCHAR of a failed one: JSON, by source why it could not answer
after_silence BOOLEAN issued because nothing was heard of the one before
after_restart BOOLEAN issued because a process had ended
position BIGINT of the event that issued it
ended_position BIGINT of the event that ended it
""",
        ),
        _table(
            "sources",
            "How one source ended in one attempt at a stage of a lookup, failed attempts "
            "included.",
            """
lookup VARCHAR the lookup
stage VARCHAR `brand-resolution`, `contact-discovery` or `ranking`
attempt INTEGER the attempt at the stage
source VARCHAR its name
ended VARCHAR a word of docs/sources.md (`used`, `no_results`, …); `failed` with its attempt
why VARCHAR why it could not answer
ended_at TIMESTAMP when the attempt ended
position BIGINT of the event that says so
""",
            order="position, source",
        ),
        _table(
            "costs",
            "What one source, verifier or language model cost in one attempt at a stage, "
            "also one that was not needed. Empty for what was recorded before costs were.",
            """
lookup VARCHAR the lookup
stage VARCHAR `brand-resolution`, `contact-discovery`, `ranking` or `verification`
mail_domain VARCHAR of a verification
attempt INTEGER the attempt at the stage
place INTEGER in the order of asking, from 1
name VARCHAR of the source, the verifier or the model
asked BIGINT questions of the stage: searches, addresses, headlines
calls BIGINT calls to a service that charges; what was known from before is none
micros BIGINT what they cost at most, in millionths of a US dollar
found BIGINT brands or people that it named, mailboxes that it said take mail
used BIGINT of those, what the stage went on with: people whom nothing before had named
expected_micros BIGINT what a verified e-mail from it was expected to cost
ended_at TIMESTAMP when the attempt ended
position BIGINT of the event that says so
""",
            order="position, place",
        ),
        _table(
            "credits",
            "How many of a lookup's verified e-mails are due to one source or verifier, "
            "counted when it ended; people erased since included.",
            """
lookup VARCHAR the lookup
stage VARCHAR `contact-discovery`: of people it named first; `verification`: it confirmed
name VARCHAR of the source or the verifier
verified INTEGER verified e-mails
ended_at TIMESTAMP when the lookup ended
position BIGINT of the event that says so
""",
            order="position, stage, name",
        ),
        _table(
            "people",
            "A person whom a lookup found. Of erased people it is left that they were found, "
            "ranked, shown and verified.",
            """
person VARCHAR the pseudonym, `<lookup>#p1`: the same for all that this lookup found out
who VARCHAR! the pseudonym over all lookups, `person_…`: as told apart when this was made
lookup VARCHAR the lookup
found_at TIMESTAMP when they were found
sources VARCHAR[]! which sources named them, as they were recorded
place INTEGER in the ranking, from 1; empty: not ranked
ranking_rules VARCHAR the version of the rules that ranked them; empty: not recorded
left_out VARCHAR why not: `not-eligible`, `former`, `agency`, … (analysts.md has them all)
shown INTEGER the place among the contacts of the result, from 1; empty: not shown
verified BOOLEAN whether the result had a verified e-mail of theirs when it was made
verdict VARCHAR on the mailbox that was verified, else on the one settled last; empty: none
mail_domain VARCHAR of that verdict
verifier VARCHAR! which verifier found it verified
rule VARCHAR! why: the reason of the evidence that the verdict rests on
verdict_rules VARCHAR! the version of the rules that chose among the evidence
family VARCHAR! of their role
level VARCHAR! of their role
erased BOOLEAN whether nothing of them is kept: erased, aged out, or suppressed before
full_name VARCHAR* their name
title VARCHAR* their title, cleaned up
headline VARCHAR* as they wrote it
company VARCHAR* where they work
linkedin_url VARCHAR* their profile
location VARCHAR* where they are
email VARCHAR* the verified address; empty if mail to it came back for good
position BIGINT of the event that names them first
""",
            order="position, n",
            made="""
SELECT p.* REPLACE (
    coalesce(p.who, w.who) AS who,
    CASE WHEN g.person IS NULL OR p.verdict = 'deliverable' THEN p.verdict END AS verdict,
    g.person IS NOT NULL AS erased,
    CASE WHEN b.person IS NULL THEN p.email END AS email
), CAST(regexp_extract(p.person, '[0-9]+$') AS BIGINT) AS n
FROM gathered.people p LEFT JOIN gathered.who w USING (person)
LEFT JOIN gathered.gone g USING (person)
LEFT JOIN (SELECT DISTINCT person FROM gathered.bounced_contacts) b USING (person)
""",
        ),
        _table(
            "mailboxes",
            "What verification found for one person at one mail domain. Of erased people it is "
            "left whether they were verified.",
            """
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
checked_at TIMESTAMP when it was settled
verified BOOLEAN whether a mailbox was proved to be theirs
verdict VARCHAR `deliverable`, `undeliverable`, `catch_all`, `mailbox_full`, `unknown`
mail_domain VARCHAR the part behind the @
verifier VARCHAR! which verifier found it verified
rule VARCHAR! why: the reason of the evidence that the verdict rests on
rules VARCHAR! the version of the rules that chose among the evidence; empty: not recorded
asked INTEGER! how many pieces of evidence there are
address VARCHAR* the verified address
position BIGINT of the event that says so
""",
            made="""
SELECT m.* REPLACE (CASE WHEN g.person IS NULL OR m.verified THEN m.verdict END AS verdict)
FROM gathered.mailboxes m LEFT JOIN gathered.gone g USING (person)
""",
        ),
        _table(
            "evidence",
            "What one verifier found out about one address. There is none of erased people.",
            """
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
n INTEGER counts the evidence of this person at this mail domain from 1
address_n INTEGER counts the addresses of this person at this mail domain from 1
found_at TIMESTAMP when it was found
checked_at TIMESTAMP when the mailbox was settled, as in `mailboxes`
mail_domain VARCHAR the part behind the @
verdict VARCHAR as in `mailboxes`
rule VARCHAR why, in a word: `recipient-refused`, `greylisted`, …
rules VARCHAR the version of the rules that read the reply; empty: not recorded
verifier VARCHAR which verifier found it
mx VARCHAR the mail exchanger that answered
answered BOOLEAN whether there was any reply
retry_in_s DOUBLE seconds after which it was worth asking again
address VARCHAR* the address
conversation VARCHAR* JSON: the lines of the conversation with the mail server
position BIGINT of the event that holds it
""",
            order="position, n",
            made="SELECT e.* FROM gathered.evidence e ANTI JOIN gathered.gone USING (person)",
        ),
        _table(
            "mail_checks",
            "A mail domain at which a lookup had nothing left to verify.",
            """
lookup VARCHAR the lookup
mail_domain VARCHAR the part behind the @
checked_at TIMESTAMP when
people INTEGER people who were checked there
verified INTEGER of those, verified
catch_all BOOLEAN whether it accepted every local part
put_off BOOLEAN whether a server of it told us to come back later, as greylisting does
position BIGINT of the event that says so
""",
        ),
        _table(
            "mail_domains",
            "What became known of a mail domain.",
            """
mail_domain VARCHAR the part behind the @
learned_at TIMESTAMP when
catch_all BOOLEAN whether it accepts every local part; empty: not known
greylists BOOLEAN whether it tells strangers to come back later; empty: not known
one_recipient BOOLEAN whether it takes one recipient a session; empty: not known
pattern VARCHAR of the local parts: `first.last`, `flast`, …; empty: not known
expires_at TIMESTAMP until when it is believed
position BIGINT of the event that says so
""",
        ),
        _table(
            "bounces",
            "A mail that came back from a mailbox which a search had returned, as the operator "
            "reported.",
            """
mail_domain VARCHAR the part behind the @
told_at TIMESTAMP when it was reported
bounced_at TIMESTAMP when it came back; when it was reported, if that is not known
kind VARCHAR what follows from it: `permanent`, `temporary`, `other`
why VARCHAR what it was, in a word: `recipient-refused`, `mailbox-full`, …
status VARCHAR the enhanced code, if there was one
pattern VARCHAR that the local part follows, if it follows one
position BIGINT of the event that says so
""",
        ),
        _table(
            "bounced_contacts",
            "A contact of a result who lost a verified e-mail, as mail to it came back for "
            "good.",
            """
person VARCHAR the pseudonym, as in `people`
lookup VARCHAR the lookup
told_at TIMESTAMP when it was reported
bounced_at TIMESTAMP when it came back; when it was reported, if that is not known
why VARCHAR as in `bounces`
status VARCHAR the enhanced code, if there was one
verifier VARCHAR which verifier had found it verified
rule VARCHAR by which rule; empty: not recorded
rules VARCHAR of which version of the rules; empty: not recorded
verified_at TIMESTAMP when
address VARCHAR* the address
diagnostic VARCHAR* what its mail server said
position BIGINT of the event that says so
""",
        ),
        _table(
            "charges",
            "A unit of quota that a search cost.",
            """
charged_at TIMESTAMP when
key VARCHAR the API key's id
search VARCHAR the search
lookup VARCHAR the lookup that answered it
brand VARCHAR as the caller was shown it
cached BOOLEAN whether an earlier lookup answered it
verified INTEGER e-mails that were verified in that lookup
position BIGINT of the event that says so
""",
            made="""
SELECT s.settled_at AS charged_at, s.key, s.search, s.lookup, s.brand, s.cached, l.verified,
       s.settled_position AS position
FROM gathered.searches s LEFT JOIN gathered.lookups l USING (lookup) WHERE s.charged
""",
        ),
        _table(
            "keys",
            "An API key, as it stands at the end of the export.",
            """
key VARCHAR its id
label VARCHAR as the operator called it
quota BIGINT units that it was issued with and granted
used BIGINT units that were charged
reserved BIGINT units held by searches that run
searches BIGINT searches that were taken
rotated BIGINT how often it got a new secret
issued_at TIMESTAMP when it was made
revoked_at TIMESTAMP when it was revoked
last_search_at TIMESTAMP when the last search was taken
position BIGINT of the event that made it
""",
        ),
        _table(
            "key_events",
            "What operators did to a key.",
            """
key VARCHAR its id
happened_at TIMESTAMP when
what VARCHAR `issued`, `granted`, `rotated` or `revoked`
units BIGINT of quota: added, or taken away (negative)
operator VARCHAR who did it
position BIGINT of the event that says so
""",
        ),
        _table(
            "events",
            "Every event that was read, and what caused it, without what it says: "
            "`cs events show` shows that.",
            """
position BIGINT its place in the log, from 1
stream VARCHAR what it is about
version INTEGER its place in the stream, from 0
type VARCHAR `<category>.<event>.v<n>`
happened_at TIMESTAMP when it happened
lookup VARCHAR the lookup that it names, if it names one
cause VARCHAR `request`, `message`, `timer`, `operator`, `event`, `start`; empty: not known
request VARCHAR of a call: its id, `X-Request-Id`
message VARCHAR of a message: its id, `<lookup>/<stage>/<item>/<attempt>/<kind>`
attempt INTEGER of a message: at the work that it answers
timer VARCHAR what was due: `deadline`, `retry`, `silence`, `ageing`, `mended`
command VARCHAR of an operator: what was typed behind `cs`
operator VARCHAR of an operator: who it was, if that is known
caused_by BIGINT of an event: its position, to which the service reacted
""",
        ),
        _table(
            "export",
            "One row: what this export holds.",
            """
position BIGINT the last position of the log that is in it
since TIMESTAMP the beginning of its period; empty: that of the log
until TIMESTAMP the end of its period; empty: that of the log
selection VARCHAR JSON: which events were chosen
revealed BOOLEAN whether people are in it
""",
        ),
        _table(
            "prices",
            "What one question to a source or verifier costs, if not what the log recorded: "
            "`cs report --price` fills it.",
            """
name VARCHAR of the source or the verifier
usd DOUBLE US dollars
""",
            order="name",
        ),
    )
}
