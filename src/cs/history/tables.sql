-- The tables of an export and of a report.  A column's comment is its meaning.
-- `personal` columns are empty unless people are revealed; these and those that are said to
-- stand `until erased` are empty for erased people.  A SELECT below a table makes its rows
-- from the rows that were gathered, where these are not the same.

-- A search: one key's request for one brand.
CREATE TABLE searches (
    search VARCHAR, -- its id, `srch_…`
    key VARCHAR, -- the API key's id
    brand VARCHAR, -- as the caller was shown it
    asked_brand VARCHAR, -- the brand that was asked for, if one was
    asked_domain VARCHAR, -- the web domain that was asked for, if one was
    lookup VARCHAR, -- the lookup that answers it
    asked_at TIMESTAMP, -- when it was taken
    settled_at TIMESTAMP, -- when it ended; empty: it runs
    seconds DOUBLE, -- from the one to the other
    outcome VARCHAR, -- `done`, or why it failed
    charged BOOLEAN, -- whether it cost a unit of quota
    cached BOOLEAN, -- whether an earlier lookup answered it
    joined BOOLEAN, -- whether it waited for a lookup that another search had started
    repeats BIGINT, -- how often it was asked for again while it ran
    idempotent BOOLEAN, -- whether it came with an `Idempotency-Key`
    request VARCHAR, -- the id of its call, `X-Request-Id`
    position BIGINT, -- of the event that took it
    settled_position BIGINT, -- of the event that ended it
);
SELECT s.* REPLACE (coalesce(NOT s.cached, true) AND s.position > l.position AS joined)
FROM gathered.searches s LEFT JOIN gathered.lookups l USING (lookup);

-- A lookup: one live run on one brand, which may answer many searches.
CREATE TABLE lookups (
    lookup VARCHAR, -- its id
    stream VARCHAR, -- the stream of its brand
    number INTEGER, -- counts the lookups of this stream from 1
    asked_brand VARCHAR, -- the brand that was asked for, if one was
    asked_domain VARCHAR, -- the web domain that was asked for, if one was
    started_at TIMESTAMP, -- when it began
    deadline_at TIMESTAMP, -- when its time was up
    ended_at TIMESTAMP, -- when it ended; empty: it runs
    seconds DOUBLE, -- from its beginning to its end
    outcome VARCHAR, -- `done`, or why it failed
    reusable BOOLEAN, -- whether its result answers later searches
    cut_off BOOLEAN, -- whether its deadline ended it
    found INTEGER, -- people found
    ranked INTEGER, -- people of a role that is looked for
    contacts INTEGER, -- contacts in its result, when it was made
    emails INTEGER, -- verified e-mails in its result, when it was made
    searches INTEGER, -- searches that it answered or is to answer, reuse included
    reused INTEGER, -- searches that it answered from reuse
    status VARCHAR, -- how brand resolution ended: `matched`, `no_match`, `ambiguous`
    rules VARCHAR, -- the version of the rules that chose the brand; empty: not recorded
    brand VARCHAR, -- the brand that was matched
    domain VARCHAR, -- its web domain
    linkedin_company_url VARCHAR, -- its company page
    parent_company VARCHAR, -- its parent, where the marketing team sits there
    instagram VARCHAR, -- its Instagram
    tiktok VARCHAR, -- its TikTok
    mail_domains VARCHAR[], -- where its people's mailboxes may be, likeliest first
    position BIGINT, -- of the event that began it
    ended_position BIGINT, -- of the event that ended it
);
SELECT l.* REPLACE (coalesce(s.searches, 0) AS searches, coalesce(s.reused, 0) AS reused)
FROM gathered.lookups l LEFT JOIN (
    SELECT lookup, count(*) AS searches, count(*) FILTER (cached) AS reused
    FROM gathered.searches GROUP BY lookup
) s USING (lookup);

-- An attempt at a stage of a lookup, or at one mail domain of it.
CREATE TABLE stages (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `brand-resolution`, `contact-discovery`, `ranking` or `verification`
    mail_domain VARCHAR, -- of a verification
    attempt INTEGER, -- counts from 1
    issued_at TIMESTAMP, -- when the work was given out
    deadline_at TIMESTAMP, -- when this attempt's time was up
    ended_at TIMESTAMP, -- when it ended; empty: it is open
    seconds DOUBLE, -- from the one to the other, waiting for a worker included
    ended VARCHAR, -- `answered`, `failed`, `replaced` by another, or `cut-off` with its lookup
    why VARCHAR, -- of a failed one
    retry_at TIMESTAMP, -- of a failed one: when the next was to follow
    causes VARCHAR, -- of a failed one: JSON, by source why it could not answer
    after_silence BOOLEAN, -- issued because nothing was heard of the one before
    after_restart BOOLEAN, -- issued because a process had ended
    position BIGINT, -- of the event that issued it
    ended_position BIGINT, -- of the event that ended it
);

-- How one source ended in one attempt at a stage of a lookup, failed attempts included.
CREATE TABLE sources (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `brand-resolution`, `contact-discovery` or `ranking`
    attempt INTEGER, -- the attempt at the stage
    source VARCHAR, -- its name
    answer VARCHAR, -- a word of docs/sources.md (`used`, `no_results`, …); `failed` with its attempt
    why VARCHAR, -- why it could not answer
    ended_at TIMESTAMP, -- when the attempt ended
    position BIGINT, -- of the event that says so
);

-- What one source, verifier or language model cost in one attempt at a stage, also one that
-- was not needed. Empty for what was recorded before costs were.
CREATE TABLE costs (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `brand-resolution`, `contact-discovery`, `ranking` or `verification`
    mail_domain VARCHAR, -- of a verification
    attempt INTEGER, -- the attempt at the stage
    place INTEGER, -- in the order of asking, from 1
    name VARCHAR, -- of the source, the verifier or the model
    asked BIGINT, -- questions of the stage: searches, addresses, headlines
    calls BIGINT, -- calls to a service that charges; what was known from before is none
    micros BIGINT, -- what they cost at most, in millionths of a US dollar
    found BIGINT, -- brands or people that it named, mailboxes that it said take mail
    used BIGINT, -- of those, what the stage went on with: people whom nothing before had named
    expected_micros BIGINT, -- what a verified e-mail from it was expected to cost
    ended_at TIMESTAMP, -- when the attempt ended
    position BIGINT, -- of the event that says so
);

-- How many of a lookup's verified e-mails are due to one source or verifier, counted when it
-- ended; people erased since included.
CREATE TABLE credits (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `contact-discovery`: of people it named first; `verification`: it confirmed
    name VARCHAR, -- of the source or the verifier
    emails INTEGER, -- verified e-mails
    ended_at TIMESTAMP, -- when the lookup ended
    position BIGINT, -- of the event that says so
);

-- A person whom a lookup found. Of erased people it is left that they were found, ranked,
-- shown and verified.
CREATE TABLE people (
    person VARCHAR, -- the pseudonym, `<lookup>#p1`: the same for all that this lookup found out
    who VARCHAR, -- until erased: the pseudonym over all lookups, `person_…`: as told apart when this was made
    lookup VARCHAR, -- the lookup
    found_at TIMESTAMP, -- when they were found
    sources VARCHAR[], -- until erased: which sources named them, as they were recorded
    place INTEGER, -- in the ranking, from 1; empty: not ranked
    ranking_rules VARCHAR, -- the version of the rules that ranked them; empty: not recorded
    left_out VARCHAR, -- why not: `not-eligible`, `former`, `agency`, … (analysts.md has them all)
    shown_place INTEGER, -- the place among the contacts of the result, from 1; empty: not shown
    verified BOOLEAN, -- whether the result had a verified e-mail of theirs when it was made
    verdict VARCHAR, -- on the mailbox that was verified, else on the one settled last; empty: none
    mail_domain VARCHAR, -- of that verdict
    verifier VARCHAR, -- until erased: which verifier found it verified
    rule VARCHAR, -- until erased: why: the reason of the evidence that the verdict rests on
    verdict_rules VARCHAR, -- until erased: the version of the rules that chose among the evidence
    family VARCHAR, -- until erased: of their role
    level VARCHAR, -- until erased: of their role
    erased BOOLEAN, -- whether nothing of them is kept: erased, aged out, or suppressed before
    full_name VARCHAR, -- personal: their name
    title VARCHAR, -- personal: their title, cleaned up
    headline VARCHAR, -- personal: as they wrote it
    company VARCHAR, -- personal: where they work
    linkedin_url VARCHAR, -- personal: their profile
    location VARCHAR, -- personal: where they are
    email VARCHAR, -- personal: the verified address; empty if mail to it came back for good
    position BIGINT, -- of the event that names them first
);
SELECT p.* REPLACE (
    CASE WHEN g.person IS NULL OR p.verdict = 'deliverable' THEN p.verdict END AS verdict,
    g.person IS NOT NULL AS erased,
    CASE WHEN b.person IS NULL THEN p.email END AS email
)
FROM gathered.people p LEFT JOIN gathered.gone g USING (person)
LEFT JOIN (SELECT DISTINCT person FROM gathered.bounced_contacts) b USING (person);

-- What verification found for one person at one mail domain. Of erased people it is left
-- whether they were verified.
CREATE TABLE mailboxes (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    checked_at TIMESTAMP, -- when it was settled
    verified BOOLEAN, -- whether a mailbox was proved to be theirs
    verdict VARCHAR, -- `deliverable`, `undeliverable`, `catch_all`, `mailbox_full`, `unknown`
    mail_domain VARCHAR, -- the part behind the @
    verifier VARCHAR, -- until erased: which verifier found it verified
    rule VARCHAR, -- until erased: why: the reason of the evidence that the verdict rests on
    rules VARCHAR, -- until erased: the version of the rules that chose among the evidence; empty: not recorded
    asked INTEGER, -- until erased: how many pieces of evidence there are
    address VARCHAR, -- personal: the verified address
    position BIGINT, -- of the event that says so
);
SELECT m.* REPLACE (CASE WHEN g.person IS NULL OR m.verified THEN m.verdict END AS verdict)
FROM gathered.mailboxes m LEFT JOIN gathered.gone g USING (person);

-- What one verifier found out about one address. There is none of erased people.
CREATE TABLE evidence (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    n INTEGER, -- counts the evidence of this person at this mail domain from 1
    address_n INTEGER, -- counts the addresses of this person at this mail domain from 1
    found_at TIMESTAMP, -- when it was found
    checked_at TIMESTAMP, -- when the mailbox was settled, as in `mailboxes`
    mail_domain VARCHAR, -- the part behind the @
    verdict VARCHAR, -- as in `mailboxes`
    rule VARCHAR, -- why, in a word: `recipient-refused`, `greylisted`, …
    rules VARCHAR, -- the version of the rules that read the reply; empty: not recorded
    verifier VARCHAR, -- which verifier found it
    mx VARCHAR, -- the mail exchanger that answered
    answered BOOLEAN, -- whether there was any reply
    retry_in_s DOUBLE, -- seconds after which it was worth asking again
    address VARCHAR, -- personal: the address
    conversation VARCHAR, -- personal: JSON: the lines of the conversation with the mail server
    position BIGINT, -- of the event that holds it
);
SELECT e.* FROM gathered.evidence e ANTI JOIN gathered.gone USING (person);

-- A mail domain at which a lookup had nothing left to verify.
CREATE TABLE mail_checks (
    lookup VARCHAR, -- the lookup
    mail_domain VARCHAR, -- the part behind the @
    checked_at TIMESTAMP, -- when
    people INTEGER, -- people who were checked there
    emails INTEGER, -- of those, people with a verified e-mail
    catch_all BOOLEAN, -- whether it accepted every local part
    put_off BOOLEAN, -- whether a server of it told us to come back later, as greylisting does
    position BIGINT, -- of the event that says so
);

-- What became known of a mail domain.
CREATE TABLE mail_domains (
    mail_domain VARCHAR, -- the part behind the @
    learned_at TIMESTAMP, -- when
    catch_all BOOLEAN, -- whether it accepts every local part; empty: not known
    greylists BOOLEAN, -- whether it tells strangers to come back later; empty: not known
    one_recipient BOOLEAN, -- whether it takes one recipient a session; empty: not known
    pattern VARCHAR, -- of the local parts: `first.last`, `flast`, …; empty: not known
    expires_at TIMESTAMP, -- until when it is believed
    position BIGINT, -- of the event that says so
);

-- A mail that came back from a mailbox which a search had returned, as the operator reported.
CREATE TABLE bounces (
    mail_domain VARCHAR, -- the part behind the @
    told_at TIMESTAMP, -- when it was reported
    bounced_at TIMESTAMP, -- when it came back; when it was reported, if that is not known
    kind VARCHAR, -- what follows from it: `permanent`, `temporary`, `other`
    why VARCHAR, -- what it was, in a word: `recipient-refused`, `mailbox-full`, …
    status VARCHAR, -- the enhanced code, if there was one
    pattern VARCHAR, -- that the local part follows, if it follows one
    position BIGINT, -- of the event that says so
);

-- A contact of a result who lost a verified e-mail, as mail to it came back for good.
CREATE TABLE bounced_contacts (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    told_at TIMESTAMP, -- when it was reported
    bounced_at TIMESTAMP, -- when it came back; when it was reported, if that is not known
    why VARCHAR, -- as in `bounces`
    status VARCHAR, -- the enhanced code, if there was one
    verifier VARCHAR, -- which verifier had found it verified
    rule VARCHAR, -- by which rule; empty: not recorded
    rules VARCHAR, -- of which version of the rules; empty: not recorded
    verified_at TIMESTAMP, -- when
    address VARCHAR, -- personal: the address
    diagnostic VARCHAR, -- personal: what its mail server said
    position BIGINT, -- of the event that says so
);

-- A unit of quota that a search cost.
CREATE TABLE charges (
    charged_at TIMESTAMP, -- when
    key VARCHAR, -- the API key's id
    search VARCHAR, -- the search
    lookup VARCHAR, -- the lookup that answered it
    brand VARCHAR, -- as the caller was shown it
    cached BOOLEAN, -- whether an earlier lookup answered it
    emails INTEGER, -- verified e-mails of that lookup
    position BIGINT, -- of the event that says so
);
SELECT s.settled_at AS charged_at, s.key, s.search, s.lookup, s.brand, s.cached, l.emails,
       s.settled_position AS position, s.row_n
FROM gathered.searches s LEFT JOIN gathered.lookups l USING (lookup) WHERE s.charged;

-- An API key, as it stands at the end of the export.
CREATE TABLE keys (
    key VARCHAR, -- its id
    label VARCHAR, -- as the operator called it
    quota BIGINT, -- units that it was issued with and granted
    charged_units BIGINT, -- units that were charged
    reserved_units BIGINT, -- units held by searches that run
    searches BIGINT, -- searches that were taken
    rotated BIGINT, -- how often it got a new secret
    issued_at TIMESTAMP, -- when it was made
    revoked_at TIMESTAMP, -- when it was revoked
    last_search_at TIMESTAMP, -- when the last search was taken
    position BIGINT, -- of the event that made it
);

-- What operators did to a key.
CREATE TABLE key_events (
    key VARCHAR, -- its id
    happened_at TIMESTAMP, -- when
    what VARCHAR, -- `issued`, `granted`, `rotated` or `revoked`
    units BIGINT, -- of quota: added, or taken away (negative)
    operator VARCHAR, -- who did it
    position BIGINT, -- of the event that says so
);

-- Every event that was read, and what caused it, without what it says: `cs events show` shows
-- that.
CREATE TABLE events (
    position BIGINT, -- its place in the log, from 1
    stream VARCHAR, -- what it is about
    version INTEGER, -- its place in the stream, from 0
    type VARCHAR, -- `<category>.<event>.v<n>`
    happened_at TIMESTAMP, -- when it happened
    lookup VARCHAR, -- the lookup that it names, if it names one
    caused_by VARCHAR, -- JSON: what led to it, as `kind` and its fields say (docs/analysts.md); empty: not known
);

-- One row: what this export holds.
CREATE TABLE export (
    position BIGINT, -- the last position of the log that is in it
    since TIMESTAMP, -- the beginning of its period; empty: that of the log
    until TIMESTAMP, -- the end of its period; empty: that of the log
    selection VARCHAR, -- JSON: which events were chosen
    revealed BOOLEAN, -- whether people are in it
);
