"""The typed tables: their columns, and how they are made of facts.

The column lists are also the page docs/export-tables.md, which `make format` writes.
"""

from collections.abc import Sequence

from cs.history.export.mail_tables import (
    BOUNCED_CONTACTS,
    BOUNCES,
    EVIDENCE,
    MAIL_DOMAINS,
    MAILBOXES,
)
from cs.history.export.table import TypedTable, columns

_SECONDS = "date_diff('microsecond', {}, {}) / 1e6"


def _seconds(first: str, last: str) -> str:
    return _SECONDS.format(first, last)


_SEARCHES = TypedTable(
    "searches",
    "A search: one key's request for one brand.",
    columns("""
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
"""),
    f"""
SELECT a.search, a.key, a.brand, a.asked_brand, a.asked_domain, a.lookup,
       a.happened_at AS asked_at, s.happened_at AS settled_at,
       {_seconds("a.happened_at", "s.happened_at")} AS seconds,
       s.outcome, s.charged, s.cached,
       coalesce(NOT s.cached, true)
         AND a.position > min(a.position) FILTER (coalesce(NOT s.cached, true))
             OVER (PARTITION BY a.lookup) AS joined,
       coalesce(r.repeats, 0) AS repeats, a.idempotent, a.request,
       a.position, s.position AS settled_position
FROM admitted a
LEFT JOIN settled s USING (search)
LEFT JOIN (SELECT search, count(*) AS repeats FROM repeated GROUP BY search) r USING (search)
""",
    by_lookup=("admitted",),
)
_LOOKUPS = TypedTable(
    "lookups",
    "A lookup: one live run on one brand, which may answer many searches.",
    columns("""
lookup VARCHAR its id
stream VARCHAR the stream of its brand
number INTEGER counts the lookups of this brand from 1
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
shown INTEGER contacts in its result
verified INTEGER contacts with a verified e-mail
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
"""),
    f"""
SELECT l.lookup, l.stream, l.number, l.asked_brand, l.asked_domain,
       l.happened_at AS started_at, l.deadline_at, f.happened_at AS ended_at,
       {_seconds("l.happened_at", "f.happened_at")} AS seconds,
       f.outcome, f.reusable, f.cut_off, coalesce(p.n, 0)::INTEGER AS found,
       f.contacts AS shown, f.verified, coalesce(q.n, 0)::INTEGER AS searches,
       coalesce(q.reused, 0)::INTEGER AS reused, r.status, r.rules, r.brand, r.domain,
       r.linkedin_company_url, r.parent_company, r.instagram, r.tiktok, r.mail_domains,
       l.position, f.position AS ended_position
FROM started l
LEFT JOIN resolved r USING (lookup)
LEFT JOIN finished f USING (lookup)
LEFT JOIN (SELECT lookup, count(*) AS n FROM found GROUP BY lookup) p USING (lookup)
LEFT JOIN (
    SELECT a.lookup, count(*) AS n, count(*) FILTER (s.cached) AS reused
    FROM admitted a LEFT JOIN settled s USING (search) GROUP BY a.lookup
) q USING (lookup)
""",
    by_lookup=("started", "resolved", "finished", "found", "admitted"),
)
_STAGES = TypedTable(
    "stages",
    "An attempt at a stage of a lookup, or at one mail domain of it.",
    columns("""
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
"""),
    f"""
WITH attempt AS (
    SELECT i.*, lead(i.position) OVER work AS next_position,
           lead(i.happened_at) OVER work AS next_at
    FROM issued i WINDOW work AS (PARTITION BY i.lookup, i.stage, i.mail_domain
                                  ORDER BY i.position)
), ending AS (
    SELECT i.position, e.ended, e.happened_at, e.position AS ended_position,
           e.why, e.retry_at, e.causes
    FROM attempt i JOIN (
        SELECT lookup, stage, mail_domain, position, happened_at, 'failed' AS ended, why,
               retry_at, causes FROM failed
        UNION ALL
        SELECT lookup, stage, mail_domain, position, happened_at, 'answered', NULL, NULL, NULL
        FROM answered
    ) e ON e.lookup = i.lookup AND e.stage = i.stage
       AND e.mail_domain IS NOT DISTINCT FROM i.mail_domain
       AND e.position > i.position
       AND (i.next_position IS NULL OR e.position < i.next_position)
    QUALIFY row_number() OVER (PARTITION BY i.position ORDER BY e.position) = 1
), ended AS (
    SELECT i.*, f.position AS cut_position, f.happened_at AS cut_at, e.ended AS told,
           e.happened_at AS told_at, e.ended_position AS told_position, e.why,
           e.retry_at, e.causes
    FROM attempt i LEFT JOIN ending e USING (position) LEFT JOIN finished f USING (lookup)
), dated AS (
    SELECT *, coalesce(told, CASE WHEN next_position IS NOT NULL THEN 'replaced'
                                  WHEN cut_position IS NOT NULL THEN 'cut-off' END) AS ended,
           coalesce(told_at, next_at, cut_at) AS ended_at,
           coalesce(told_position, next_position, cut_position) AS ended_position
    FROM ended
)
SELECT lookup, stage, mail_domain, attempt, happened_at AS issued_at, deadline_at, ended_at,
       {_seconds("happened_at", "ended_at")} AS seconds, ended, why, retry_at, causes,
       after_silence, after_restart, position, ended_position
FROM dated
""",
    by_lookup=("issued", "failed", "answered", "finished"),
)
_PEOPLE = TypedTable(
    "people",
    "Somebody whom a lookup found. Of who was erased, only that they were found, ranked and "
    "shown is left.",
    columns("""
person VARCHAR the pseudonym, `<lookup>#p1`: the same for all that this lookup found out
who VARCHAR the pseudonym over all lookups, `person_…`: as told apart when this was made
lookup VARCHAR the lookup
found_at TIMESTAMP when they were found
sources VARCHAR[] which sources named them
place INTEGER in the ranking, from 1; empty: not ranked
ranking_rules VARCHAR the version of the rules that ranked them; empty: not recorded
left_out VARCHAR why not: `not-eligible`, `former`, `agency`, … (analysts.md has them all)
shown INTEGER the place among the contacts of the result, from 1; empty: not shown
verified BOOLEAN whether the result had a verified e-mail of theirs when it was made
verdict VARCHAR on the mailbox that was verified, else on the one settled last; empty: none
mail_domain VARCHAR of that verdict
verifier VARCHAR who found it verified
rule VARCHAR why: the reason of the evidence that the verdict rests on
verdict_rules VARCHAR the version of the rules that chose among the evidence
erased BOOLEAN whether nothing of them is kept: erased, aged out, or suppressed before
full_name VARCHAR* their name
title VARCHAR* their title, cleaned up
family VARCHAR* of their role
level VARCHAR* of their role
headline VARCHAR* as they wrote it
company VARCHAR* where they work
linkedin_url VARCHAR* their profile
location VARCHAR* where they are
email VARCHAR* the verified address; empty if mail to it came back for good
position BIGINT of the event that names them first
"""),
    """
WITH best AS (
    SELECT c.* FROM checked c LEFT JOIN resolved USING (lookup)
    QUALIFY row_number() OVER (
        PARTITION BY person ORDER BY c.verified DESC,
        CASE WHEN c.verified THEN list_position(mail_domains, c.mail_domain) END NULLS LAST,
        c.position DESC
    ) = 1
), gone AS (SELECT DISTINCT person FROM erased),
back AS (SELECT DISTINCT person FROM bounced)
SELECT f.person, CASE WHEN g.person IS NULL THEN coalesce(f.who, w.who) END AS who, f.lookup,
       f.happened_at AS found_at,
       CASE WHEN g.person IS NULL THEN f.sources END AS sources,
       r.place, r.rules AS ranking_rules, o.why AS left_out, s.place AS shown,
       coalesce(s.verified, false) AS verified,
       CASE WHEN g.person IS NULL THEN b.verdict END AS verdict,
       CASE WHEN g.person IS NULL THEN b.mail_domain END AS mail_domain,
       CASE WHEN g.person IS NULL THEN b.verifier END AS verifier,
       CASE WHEN g.person IS NULL THEN b.rule END AS rule,
       CASE WHEN g.person IS NULL THEN b.rules END AS verdict_rules,
       g.person IS NOT NULL AS erased,
       CASE WHEN g.person IS NULL THEN f.full_name END AS full_name,
       CASE WHEN g.person IS NULL THEN r.title END AS title,
       CASE WHEN g.person IS NULL THEN r.family END AS family,
       CASE WHEN g.person IS NULL THEN r.level END AS level,
       CASE WHEN g.person IS NULL THEN f.headline END AS headline,
       CASE WHEN g.person IS NULL THEN f.company END AS company,
       CASE WHEN g.person IS NULL THEN f.linkedin_url END AS linkedin_url,
       CASE WHEN g.person IS NULL THEN f.location END AS location,
       CASE WHEN g.person IS NULL AND s.verified AND k.person IS NULL THEN b.address END
         AS email,
       f.position
FROM found f
LEFT JOIN who w USING (person)
LEFT JOIN ranked r USING (person)
LEFT JOIN left_out o USING (person)
LEFT JOIN shown s USING (person)
LEFT JOIN best b USING (person)
LEFT JOIN gone g USING (person)
LEFT JOIN back k USING (person)
""",
    order="position, length(person), person",
    by_lookup=(
        "found",
        "who",
        "ranked",
        "left_out",
        "shown",
        "checked",
        "resolved",
        "bounced",
        "erased",
    ),
)
_CHARGES = TypedTable(
    "charges",
    "A unit of quota that a search cost.",
    columns("""
charged_at TIMESTAMP when
key VARCHAR the API key's id
search VARCHAR the search
lookup VARCHAR the lookup that answered it
brand VARCHAR as the caller was shown it
cached BOOLEAN whether an earlier lookup answered it
verified INTEGER e-mails that were verified in that lookup
position BIGINT of the event that says so
"""),
    """
SELECT s.happened_at AS charged_at, s.key, s.search, s.lookup, a.brand, s.cached, f.verified,
       s.position
FROM settled s
LEFT JOIN admitted a USING (search)
LEFT JOIN finished f ON f.lookup = s.lookup
WHERE s.charged
""",
    by_lookup=("settled", "finished"),
)
_SOURCES = TypedTable(
    "sources",
    "How one source ended in one stage of one lookup.",
    columns("""
lookup VARCHAR the lookup
stage VARCHAR `brand-resolution` or `contact-discovery`
source VARCHAR its name
ended VARCHAR a word of docs/sources.md (`used`, `no_results`, ...); empty: not told
why VARCHAR why it could not answer
ended_at TIMESTAMP when the stage ended
position BIGINT of the event that says so
"""),
    "SELECT lookup, stage, source, ended, why, happened_at AS ended_at, position FROM source",
    order="position, source",
)
_COSTS = TypedTable(
    "costs",
    "What one source, verifier or language model cost in one attempt of a stage; one that was "
    "not needed, too. Empty for what was recorded before costs were.",
    columns("""
lookup VARCHAR the lookup
stage VARCHAR `brand-resolution`, `contact-discovery`, `ranking` or `verification`
mail_domain VARCHAR of a verification
place INTEGER in the order of asking, from 1
name VARCHAR of the source, the verifier or the model
asked BIGINT questions of the stage: searches, addresses, headlines
calls BIGINT calls to a service that charges; what was known from before is none
micros BIGINT what they cost at most, in millionths of a US dollar
found BIGINT brands or people that it named, mailboxes that it said take mail
used BIGINT of those, what the stage went on with
expected_micros BIGINT what a verified e-mail from it was expected to cost
ended_at TIMESTAMP when the attempt ended
position BIGINT of the event that says so
"""),
    """
SELECT lookup, stage, mail_domain, place, name, asked, calls, micros, found, used,
       expected_micros, happened_at AS ended_at, position
FROM cost
""",
    order="position, place",
)
_KEYS = TypedTable(
    "keys",
    "An API key, as it stands at the end of the export.",
    columns("""
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
"""),
    """
SELECT i.key, i.label, i.units + coalesce(c.granted, 0)::BIGINT AS quota,
       coalesce(s.used, 0) AS used, coalesce(s.reserved, 0) AS reserved,
       coalesce(s.searches, 0) AS searches, coalesce(c.rotated, 0) AS rotated,
       i.happened_at AS issued_at, c.revoked_at, s.last_search_at, i.position
FROM key_event i
LEFT JOIN (
    SELECT key, sum(units) FILTER (what = 'granted') AS granted,
           count(*) FILTER (what = 'rotated') AS rotated,
           min(happened_at) FILTER (what = 'revoked') AS revoked_at
    FROM key_event GROUP BY key
) c USING (key)
LEFT JOIN (
    SELECT a.key, count(*) AS searches, count(*) FILTER (s.charged) AS used,
           count(*) FILTER (s.search IS NULL) AS reserved, max(a.happened_at) AS last_search_at
    FROM admitted a LEFT JOIN settled s USING (search) GROUP BY a.key
) s USING (key)
WHERE i.what = 'issued'
""",
)
_KEY_EVENTS = TypedTable(
    "key_events",
    "What operators did to a key.",
    columns("""
key VARCHAR its id
happened_at TIMESTAMP when
what VARCHAR `issued`, `granted`, `rotated` or `revoked`
units BIGINT of quota: added, or taken away (negative)
operator VARCHAR who did it
position BIGINT of the event that says so
"""),
    "SELECT key, happened_at, what, units, operator, position FROM key_event",
)
_EVENTS = TypedTable(
    "events",
    "Every event that was read, and what caused it, without what it says: `cs events show` "
    "shows that.",
    columns("""
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
operator VARCHAR of an operator: who it was, if somebody said
caused_by BIGINT of an event: its position, somebody who follows the log acted on it
"""),
    "SELECT * FROM event",
)

_EXPORT = TypedTable(
    "export",
    "One row: what this export holds.",
    columns("""
position BIGINT the last position of the log that is in it
selection VARCHAR JSON: which events were chosen
revealed BOOLEAN whether people are in it
"""),
    "SELECT upto AS position, selection, revealed FROM plan",
)

#: In the order of the page that describes them.
TABLES: Sequence[TypedTable] = (
    _SEARCHES,
    _LOOKUPS,
    _STAGES,
    _SOURCES,
    _COSTS,
    _PEOPLE,
    MAILBOXES,
    EVIDENCE,
    MAIL_DOMAINS,
    BOUNCES,
    BOUNCED_CONTACTS,
    _CHARGES,
    _KEYS,
    _KEY_EVENTS,
    _EVENTS,
    _EXPORT,
)
