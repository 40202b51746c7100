-- Verifiers
-- Asked: questions, retries included. Verdicts: by address, people erased since left out. E-mails: that it confirmed, in runs that ended. Bounced: e-mails it had confirmed and that came back, as reported in the period.
WITH verdicts AS (
    SELECT verifier, string_agg(n || ' ' || verdict, ', ' ORDER BY n DESC, verdict) AS verdicts,
           sum(unanswered) AS no_reply
    FROM (SELECT verifier, verdict, count(*) AS n, count(*) FILTER (NOT answered) AS unanswered
          FROM evidence WHERE in_period(checked_at) AND verifier <> 'bounces' GROUP BY ALL)
    GROUP BY verifier
), cost AS (
    SELECT name, sum(asked) AS asked, sum(usd) AS usd FROM priced_costs
    WHERE stage = 'verification' AND in_period(ended_at) GROUP BY name HAVING sum(asked) > 0
), email AS (
    SELECT name, sum(verified) AS emails FROM credits
    WHERE stage = 'verification' AND in_period(ended_at) GROUP BY name
), bounce AS (
    SELECT verifier, count(*) AS bounced FROM bounced_contacts
    WHERE in_period(told_at) GROUP BY verifier
), name AS (
    SELECT verifier FROM verdicts UNION SELECT name FROM cost UNION SELECT name FROM email
    UNION SELECT verifier FROM bounce
)
SELECT n.verifier, v.verdicts, c.asked, coalesce(v.no_reply, 0) AS no_reply,
       coalesce(e.emails, 0) AS emails, coalesce(e.emails, 0) / nullif(c.asked, 0) AS email_share,
       coalesce(b.bounced, 0) AS bounced, c.usd, c.usd / nullif(e.emails, 0) AS usd_per_email
FROM name n LEFT JOIN verdicts v USING (verifier) LEFT JOIN bounce b USING (verifier)
LEFT JOIN cost c ON c.name = n.verifier LEFT JOIN email e ON e.name = n.verifier
ORDER BY n.verifier
