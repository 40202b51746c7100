-- By brand
-- Per matched brand, or per requested name if none was matched, however it was asked for.
WITH named AS (
    SELECT stream, coalesce(max_by(brand, position) FILTER (brand IS NOT NULL),
                            any_value(asked_brand), any_value(asked_domain), any_value(said)) AS brand
    FROM (SELECT stream, brand, asked_brand, asked_domain, NULL AS said, position FROM lookups UNION ALL
          SELECT regexp_replace(lookup, '\.[^.]*$', ''), NULL, NULL, NULL, brand, NULL FROM searches)
    GROUP BY stream
), happened AS (
    SELECT lookup, settled_at AS happened_at, 1 AS searches, charged, cached, 0 AS runs,
           0 AS emails, NULL AS usd
    FROM searches UNION ALL
    SELECT lookup, ended_at, 0, NULL, NULL, 1, emails,
           (SELECT sum(usd) FROM priced_costs c WHERE c.lookup = l.lookup)
    FROM lookups l
)
SELECT n.brand, sum(h.searches) AS searches, count(*) FILTER (h.charged) AS charged,
       count(*) FILTER (h.cached) AS reused, sum(h.runs) AS runs,
       sum(h.emails) AS emails, sum(h.usd) AS usd, sum(h.usd) / nullif(sum(h.emails), 0) AS usd_per_email
FROM happened h JOIN named n ON n.stream = regexp_replace(h.lookup, '\.[^.]*$', '')
WHERE in_period(h.happened_at) GROUP BY n.brand ORDER BY searches DESC, brand
