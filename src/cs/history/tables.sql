-- The tables of an export and of a report.  The comment of a column is its meaning.
-- Columns marked `personal` are empty unless people are revealed.  These, and columns marked
-- `until erased`, are empty for erased people.  A SELECT below a table makes its rows from
-- the gathered rows, where the two differ.

-- A search: one key's request for one brand.
CREATE TABLE searches (
    search VARCHAR, -- its id, `srch_…`
    key VARCHAR, -- the API key's id
    brand VARCHAR, -- as shown to the caller
    asked_brand VARCHAR, -- the brand that was asked for, if one was
    asked_domain VARCHAR, -- the web domain that was asked for, if one was
    lookup VARCHAR, -- the lookup that answers it
    asked_at TIMESTAMP, -- when it was admitted
    settled_at TIMESTAMP, -- when it ended; empty while it runs
    seconds DOUBLE, -- from start to end
    outcome VARCHAR, -- `done`, or why it failed
    charged BOOLEAN, -- whether it cost a unit of quota
    cached BOOLEAN, -- whether an earlier lookup answered it
    joined BOOLEAN, -- whether it waited for a lookup that another search had started
    repeats BIGINT, -- how often it was repeated while it ran
    idempotent BOOLEAN, -- whether it came with an `Idempotency-Key`
    request VARCHAR, -- the id of its call, `X-Request-Id`
    position BIGINT, -- of the event that admitted it
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
    ended_at TIMESTAMP, -- when it ended; empty while it runs
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
    issued_at TIMESTAMP, -- when the work was issued
    deadline_at TIMESTAMP, -- deadline of this attempt
    ended_at TIMESTAMP, -- when it ended; empty while it is open
    seconds DOUBLE, -- from issue to end, waiting for a worker included
    ended VARCHAR, -- `answered`, `failed`, `replaced` by another, or `cut-off` with its lookup
    why VARCHAR, -- of a failed one
    retry_at TIMESTAMP, -- of a failed one: when the next attempt was due
    causes VARCHAR, -- of a failed one: JSON, the failure of each source
    after_silence BOOLEAN, -- issued because the attempt before it was silent
    after_restart BOOLEAN, -- issued because a process restarted
    position BIGINT, -- of the event that issued it
    ended_position BIGINT, -- of the event that ended it
);

-- The answer of one source in one attempt at a stage of a lookup, failed attempts included.
CREATE TABLE sources (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `brand-resolution`, `contact-discovery` or `ranking`
    attempt INTEGER, -- the attempt at the stage
    source VARCHAR, -- its name
    answer VARCHAR, -- a word of docs/sources.md (`used`, `no_results`, …); `failed` with its attempt
    why VARCHAR, -- why it failed
    ended_at TIMESTAMP, -- when the attempt ended
    position BIGINT, -- of the event that recorded it
);

-- Cost of one source, verifier or language model in one attempt at a stage, needed or not.
-- Attempts recorded by versions without costs have no rows.
CREATE TABLE costs (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `brand-resolution`, `contact-discovery`, `ranking` or `verification`
    mail_domain VARCHAR, -- of a verification
    attempt INTEGER, -- the attempt at the stage
    place INTEGER, -- in the order of asking, from 1
    name VARCHAR, -- of the source, the verifier or the model
    asked BIGINT, -- questions of the stage: searches, addresses, headlines
    calls BIGINT, -- paid calls; a remembered answer needs none
    micros BIGINT, -- upper limit of their cost, in millionths of a US dollar
    found BIGINT, -- brands or people that it returned, mailboxes that it reported as existing
    used BIGINT, -- of those, the ones that the stage used: of people, those that no source before it had returned
    expected_micros BIGINT, -- expected cost of a verified e-mail from it
    ended_at TIMESTAMP, -- when the attempt ended
    position BIGINT, -- of the event that recorded it
);

-- Verified e-mails of a lookup per source or verifier, counted when it ended; people erased
-- since are included.
CREATE TABLE credits (
    lookup VARCHAR, -- the lookup
    stage VARCHAR, -- `contact-discovery`: of people it found first; `verification`: that it confirmed
    name VARCHAR, -- of the source or the verifier
    emails INTEGER, -- verified e-mails
    ended_at TIMESTAMP, -- when the lookup ended
    position BIGINT, -- of the event that recorded it
);

-- A person that a lookup found. Of erased people only remains that they were found, ranked,
-- shown and verified.
CREATE TABLE people (
    person VARCHAR, -- the pseudonym in this lookup, `<lookup>#p1`
    who VARCHAR, -- until erased: the pseudonym over all lookups, `person_…`, as known when this was made
    lookup VARCHAR, -- the lookup
    found_at TIMESTAMP, -- when they were found
    sources VARCHAR[], -- until erased: the sources that returned them, as recorded
    place INTEGER, -- in the ranking, from 1; empty: not ranked
    ranking_rules VARCHAR, -- the version of the rules that ranked them; empty: not recorded
    left_out VARCHAR, -- why they were not ranked: `not-eligible`, `former`, `agency`, … (analysts.md has them all)
    shown_place INTEGER, -- the place among the contacts of the result, from 1; empty: not shown
    verified BOOLEAN, -- whether the result had their verified e-mail when it was made
    verdict VARCHAR, -- on the mailbox that was verified, else on the one settled last; empty: none
    mail_domain VARCHAR, -- of that verdict
    verifier VARCHAR, -- until erased: the verifier that verified it
    rule VARCHAR, -- until erased: the reason of the evidence that the verdict rests on
    verdict_rules VARCHAR, -- until erased: the version of the rules that chose among the evidence
    family VARCHAR, -- until erased: of their role
    level VARCHAR, -- until erased: of their role
    erased BOOLEAN, -- whether they were erased, aged out or suppressed
    full_name VARCHAR, -- personal: their name
    title VARCHAR, -- personal: their title, cleaned up
    headline VARCHAR, -- personal: as written in their profile
    company VARCHAR, -- personal: their employer
    linkedin_url VARCHAR, -- personal: their profile
    location VARCHAR, -- personal: their location
    email VARCHAR, -- personal: the verified address; empty if mail to it came back for good
    position BIGINT, -- of the event that found them first
);
SELECT p.* REPLACE (CASE WHEN b.person IS NULL THEN p.email END AS email)
FROM gathered.people p
LEFT JOIN (SELECT DISTINCT person FROM gathered.bounced_contacts) b USING (person);

-- The result of verification for one person at one mail domain. Of erased people only
-- remains whether they were verified.
CREATE TABLE mailboxes (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    checked_at TIMESTAMP, -- when it was settled
    verified BOOLEAN, -- whether a mailbox was proved to be theirs
    verdict VARCHAR, -- `deliverable`, `undeliverable`, `catch_all`, `mailbox_full`, `unknown`
    mail_domain VARCHAR, -- the part behind the @
    verifier VARCHAR, -- until erased: the verifier that verified it
    rule VARCHAR, -- until erased: the reason of the evidence that the verdict rests on
    rules VARCHAR, -- until erased: the version of the rules that chose among the evidence; empty: not recorded
    asked INTEGER, -- until erased: how many pieces of evidence there are
    address VARCHAR, -- personal: the verified address
    position BIGINT, -- of the event that recorded it
);

-- The evidence of one verifier about one address. Erased people have none.
CREATE TABLE evidence (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    n INTEGER, -- counts the evidence of this person at this mail domain from 1
    address_n INTEGER, -- counts the addresses of this person at this mail domain from 1
    found_at TIMESTAMP, -- when it was found
    checked_at TIMESTAMP, -- when the mailbox was settled, as in `mailboxes`
    mail_domain VARCHAR, -- the part behind the @
    verdict VARCHAR, -- as in `mailboxes`
    rule VARCHAR, -- its reason: `recipient-refused`, `greylisted`, …
    rules VARCHAR, -- the version of the rules that read the reply; empty: not recorded
    verifier VARCHAR, -- the verifier that found it
    mx VARCHAR, -- the mail exchanger that answered
    answered BOOLEAN, -- whether there was any reply
    retry_in_s DOUBLE, -- seconds after which it was worth asking again
    address VARCHAR, -- personal: the address
    conversation VARCHAR, -- personal: JSON: the lines of the conversation with the mail server
    position BIGINT, -- of the event that holds it
);

-- A mail domain at which a lookup had nothing left to verify.
CREATE TABLE mail_checks (
    lookup VARCHAR, -- the lookup
    mail_domain VARCHAR, -- the part behind the @
    checked_at TIMESTAMP, -- when
    people INTEGER, -- people who were checked there
    emails INTEGER, -- of those, people with a verified e-mail
    catch_all BOOLEAN, -- whether it accepted every local part
    put_off BOOLEAN, -- whether one of its servers asked to come back later, as greylisting does
    position BIGINT, -- of the event that recorded it
);

-- Facts that were learned about a mail domain.
CREATE TABLE mail_domains (
    mail_domain VARCHAR, -- the part behind the @
    learned_at TIMESTAMP, -- when
    catch_all BOOLEAN, -- whether it accepts every local part; empty: not known
    greylists BOOLEAN, -- whether it greylists; empty: not known
    one_recipient BOOLEAN, -- whether it takes one recipient a session; empty: not known
    pattern VARCHAR, -- of the local parts: `first.last`, `flast`, …; empty: not known
    expires_at TIMESTAMP, -- until when the facts are used
    position BIGINT, -- of the event that recorded it
);

-- A bounce of mail to a mailbox that a search had returned, as reported by the operator.
CREATE TABLE bounces (
    mail_domain VARCHAR, -- the part behind the @
    told_at TIMESTAMP, -- when it was reported
    bounced_at TIMESTAMP, -- when it bounced; when it was reported, if that is not known
    kind VARCHAR, -- its kind: `permanent`, `temporary`, `other`
    why VARCHAR, -- its reason: `recipient-refused`, `mailbox-full`, …
    status VARCHAR, -- the enhanced code, if there was one
    pattern VARCHAR, -- that the local part follows, if it follows one
    position BIGINT, -- of the event that recorded it
);

-- A contact whose verified e-mail was removed from the result after a permanent bounce.
CREATE TABLE bounced_contacts (
    person VARCHAR, -- the pseudonym, as in `people`
    lookup VARCHAR, -- the lookup
    told_at TIMESTAMP, -- when it was reported
    bounced_at TIMESTAMP, -- when it bounced; when it was reported, if that is not known
    why VARCHAR, -- as in `bounces`
    status VARCHAR, -- the enhanced code, if there was one
    verifier VARCHAR, -- the verifier that had verified it
    rule VARCHAR, -- the rule that verified it; empty: not recorded
    rules VARCHAR, -- the version of the rules; empty: not recorded
    verified_at TIMESTAMP, -- when
    address VARCHAR, -- personal: the address
    diagnostic VARCHAR, -- personal: the reply of its mail server
    position BIGINT, -- of the event that recorded it
);

-- A unit of quota that a search cost.
CREATE TABLE charges (
    charged_at TIMESTAMP, -- when
    key VARCHAR, -- the API key's id
    search VARCHAR, -- the search
    lookup VARCHAR, -- the lookup that answered it
    brand VARCHAR, -- as shown to the caller
    cached BOOLEAN, -- whether an earlier lookup answered it
    emails INTEGER, -- verified e-mails of that lookup
    position BIGINT, -- of the event that recorded it
);
SELECT s.settled_at AS charged_at, s.key, s.search, s.lookup, s.brand, s.cached, l.emails,
       s.settled_position AS position, s.row_n
FROM gathered.searches s LEFT JOIN gathered.lookups l USING (lookup) WHERE s.charged;

-- An API key, as it stands at the end of the export.
CREATE TABLE keys (
    key VARCHAR, -- its id
    label VARCHAR, -- as set by the operator
    quota BIGINT, -- units that it was issued with and granted
    charged_units BIGINT, -- units that were charged
    reserved_units BIGINT, -- units held by searches that run
    searches BIGINT, -- searches that were admitted
    rotated BIGINT, -- how often it got a new secret
    issued_at TIMESTAMP, -- when it was made
    revoked_at TIMESTAMP, -- when it was revoked
    last_search_at TIMESTAMP, -- when the last search was admitted
    position BIGINT, -- of the event that made it
);

-- A change of a key by an operator.
CREATE TABLE key_events (
    key VARCHAR, -- its id
    happened_at TIMESTAMP, -- when
    what VARCHAR, -- `issued`, `granted`, `limited`, `rotated` or `revoked`
    units BIGINT, -- of quota: added, or taken away (negative)
    operator VARCHAR, -- who did it
    position BIGINT, -- of the event that recorded it
);

-- Every event that was read, and its cause, without its data (`cs events show` shows that).
CREATE TABLE events (
    position BIGINT, -- its place in the log, from 1
    stream VARCHAR, -- its stream
    version INTEGER, -- its place in the stream, from 0
    type VARCHAR, -- `<category>.<event>.v<n>`
    happened_at TIMESTAMP, -- when it happened
    lookup VARCHAR, -- the lookup that it names, if it names one
    caused_by VARCHAR, -- JSON: its cause, with `kind` and its fields (docs/analysts.md); empty: not known
);

-- One row: the contents of this export.
CREATE TABLE export (
    position BIGINT, -- the last position of the log that is in it
    since TIMESTAMP, -- the beginning of its period; empty: that of the log
    until TIMESTAMP, -- the end of its period; empty: that of the log
    selection VARCHAR, -- JSON: the selection of events
    revealed BOOLEAN, -- whether people are in it
);
