-- Brand sources
-- Attempts, by how the source ended in them. E-mails: verified in the runs in which it was used.
WITH source AS (FROM sources WHERE stage = 'brand-resolution' AND in_period(ended_at)), cost AS (
    SELECT name, sum(asked) AS asked, sum(usd) AS usd FROM priced_costs
    WHERE stage = 'brand-resolution' AND in_period(ended_at) GROUP BY name
), email AS (
    SELECT source, sum(verified) AS emails FROM (
        SELECT DISTINCT source, l.lookup, l.verified
        FROM sources s JOIN lookups l USING (lookup)
        WHERE s.stage = 'brand-resolution' AND s.ended = 'used' AND in_period(l.ended_at)
    ) GROUP BY source
), ended AS (
    SELECT source, string_agg(n || ' ' || how, ', ' ORDER BY n DESC, how) AS ended
    FROM (SELECT source, coalesce(ended, 'not known') AS how, count(*) AS n
          FROM source GROUP BY ALL) GROUP BY source
)
SELECT coalesce(e.source, c.name) AS source, e.ended, c.asked,
       coalesce(m.emails, 0) AS emails, c.usd
FROM ended e FULL JOIN (FROM cost WHERE asked > 0) c ON c.name = e.source
LEFT JOIN email m ON m.source = coalesce(e.source, c.name) ORDER BY 1
