"""Views over the typed tables that answer what is asked most."""

from collections.abc import Sequence
from typing import NamedTuple


class View(NamedTuple):
    """One ready view.

    Attributes:
        about: What a row is, for people.
        made: Its SQL, over `cs.history.export.tables.TABLES`.
    """

    name: str
    about: str
    made: str


VIEWS: Sequence[View] = (
    View(
        "answers",
        "Each search with how its lookup ended, and the seconds until it was answered.",
        """
SELECT s.search, s.key, k.label, s.brand, s.asked_at, s.seconds AS seconds_to_answer, s.outcome,
       s.charged, s.cached, s.joined, l.lookup, l.domain, l.found, l.shown, l.verified,
       l.seconds AS lookup_seconds, l.cut_off,
       date_diff('microsecond', l.ended_at, s.asked_at) / 86400e6 AS age_in_days
FROM searches s LEFT JOIN lookups l USING (lookup) LEFT JOIN keys k USING (key)
""",
    ),
    View(
        "outcomes_per_day",
        "Searches of a day, by how they ended; running ones without an outcome.",
        """
SELECT asked_at::DATE AS day, outcome, count(*) AS searches,
       count(*) FILTER (charged) AS charged, count(*) FILTER (cached) AS cached,
       median(seconds) AS median_seconds
FROM searches GROUP BY ALL ORDER BY day, outcome
""",
    ),
    View(
        "charges_per_key_per_day",
        "Units that each key was charged, by day.",
        """
SELECT c.charged_at::DATE AS day, c.key, k.label, count(*) AS charged,
       count(*) FILTER (c.cached) AS cached, sum(c.verified)::BIGINT AS verified
FROM charges c LEFT JOIN keys k USING (key) GROUP BY ALL ORDER BY day, c.key
""",
    ),
    View(
        "yield_by_source",
        "How often each source answered, and whom it found: people of several sources count "
        "for each.",
        """
WITH named AS (
    SELECT unnest(sources) AS source, place, verified FROM people
), found AS (
    SELECT source, count(*) AS people, count(place) AS ranked,
           count(*) FILTER (verified) AS verified
    FROM named GROUP BY source
)
SELECT s.stage, s.source, count(*) AS lookups, count(*) FILTER (s.ended = 'used') AS used,
       count(*) FILTER (s.ended = 'no_results') AS no_results,
       count(*) FILTER (s.ended = 'rate_limited') AS rate_limited,
       count(*) FILTER (s.ended = 'failed') AS failed,
       CASE WHEN s.stage = 'contact-discovery' THEN coalesce(any_value(f.people), 0) END
         AS people,
       CASE WHEN s.stage = 'contact-discovery' THEN coalesce(any_value(f.ranked), 0) END
         AS ranked,
       CASE WHEN s.stage = 'contact-discovery' THEN coalesce(any_value(f.verified), 0) END
         AS verified
FROM sources s LEFT JOIN found f USING (source) GROUP BY s.stage, s.source ORDER BY ALL
""",
    ),
    View(
        "seconds_by_stage",
        "How long the attempts at each stage took, by how they ended.",
        """
SELECT stage, ended, count(*) AS attempts, median(seconds) AS median_seconds,
       quantile_cont(seconds, 0.95) AS p95_seconds, max(seconds) AS longest_seconds
FROM stages GROUP BY ALL ORDER BY stage, ended
""",
    ),
    View(
        "verdicts_by_mail_domain",
        "Verdicts at each mail domain, with their share there; nobody who was erased.",
        """
SELECT mail_domain, verdict, count(*) AS mailboxes,
       count(*) / sum(count(*)) OVER (PARTITION BY mail_domain) AS share,
       min(checked_at) AS first_at, max(checked_at) AS last_at
FROM mailboxes WHERE mail_domain IS NOT NULL GROUP BY mail_domain, verdict ORDER BY ALL
""",
    ),
    View(
        "rules_by_verifier",
        "How often each verifier said what, and by which rule.",
        """
SELECT verifier, rule, verdict, count(*) AS addresses, min(found_at) AS first_at,
       max(found_at) AS last_at
FROM evidence GROUP BY verifier, rule, verdict ORDER BY ALL
""",
    ),
    View(
        "bounces_by_verifier",
        "E-mails that each verifier found verified, by rule, and how many of them mail came "
        "back from; nobody who was erased.",
        """
SELECT m.verifier, m.rule, count(*) AS verified, count(b.person) AS bounced,
       count(b.person) / count(*) AS share
FROM mailboxes m LEFT JOIN (SELECT DISTINCT person FROM bounced_contacts) b USING (person)
WHERE m.verified AND m.verifier IS NOT NULL GROUP BY m.verifier, m.rule ORDER BY ALL
""",
    ),
    View(
        "reuse_per_day",
        "Ended searches of a day, and how many an earlier lookup answered.",
        """
SELECT asked_at::DATE AS day, count(*) AS searches, count(*) FILTER (cached) AS cached,
       count(*) FILTER (cached) / count(*) AS share
FROM searches WHERE settled_at IS NOT NULL GROUP BY day ORDER BY day
""",
    ),
    View(
        "causes",
        "What caused the events of each type, how often; `what`: which timer, which command.",
        """
SELECT type, cause, coalesce(timer, command) AS what, count(*) AS events,
       min(happened_at) AS first_at, max(happened_at) AS last_at
FROM events GROUP BY ALL ORDER BY ALL
""",
    ),
)
