-- People sources
-- Found: every person it saw. First: those whom no source before it had named. In a role: people recorded with it, erased ones left out. E-mails: verified, of those it named first.
WITH run AS (FROM lookups WHERE in_period(ended_at)), ended AS (
    SELECT source, string_agg(n || ' ' || how, ', ' ORDER BY n DESC, how) AS ended
    FROM (SELECT source, coalesce(ended, 'not known') AS how, count(*) AS n FROM sources
          WHERE stage = 'contact-discovery' AND in_period(ended_at) GROUP BY ALL)
    GROUP BY source
), cost AS (
    SELECT name, sum(asked) AS asked, sum(found) AS found, sum(used) AS first, sum(usd) AS usd
    FROM priced_costs WHERE stage = 'contact-discovery' AND in_period(ended_at) GROUP BY name
), seen AS (
    SELECT source, count(*) AS found, count(place) AS ranked
    FROM (SELECT unnest(p.sources) AS source, p.place FROM people p JOIN run USING (lookup))
    GROUP BY source
), email AS (
    SELECT name, sum(verified) AS emails FROM credits
    WHERE stage = 'contact-discovery' AND in_period(ended_at) GROUP BY name
)
SELECT source, e.ended, c.asked, greatest(coalesce(c.found, 0), coalesce(s.found, 0)) AS found,
       coalesce(c.first, s.found) AS first, coalesce(s.ranked, 0) AS in_a_role,
       coalesce(m.emails, 0) AS emails, coalesce(m.emails, 0) / nullif(c.first, 0) AS email_share,
       c.usd, c.usd / nullif(m.emails, 0) AS usd_per_email
FROM ended e FULL JOIN seen s USING (source)
LEFT JOIN cost c ON c.name = source LEFT JOIN email m ON m.name = source ORDER BY source
