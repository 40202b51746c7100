-- By brand
-- As it was matched, or else as it was asked for; however it was asked for.
WITH named AS (
    SELECT stream, coalesce(max_by(brand, position) FILTER (brand IS NOT NULL),
                            any_value(asked_brand), any_value(asked_domain)) AS brand
    FROM lookups GROUP BY stream
), answered AS (
    SELECT n.brand, count(*) AS searches, count(*) FILTER (s.outcome = 'done') AS with_an_email,
           count(*) FILTER (s.charged) AS charged, count(*) FILTER (s.cached) AS reused
    FROM searches s JOIN lookups l USING (lookup) JOIN named n USING (stream)
    WHERE in_period(s.settled_at) GROUP BY n.brand
), run AS (
    SELECT n.brand, count(*) AS live_runs, sum(l.verified) AS verified_emails, sum(c.usd) AS usd
    FROM lookups l JOIN named n USING (stream)
    LEFT JOIN (SELECT lookup, sum(usd) AS usd FROM priced_costs GROUP BY lookup) c USING (lookup)
    WHERE in_period(l.ended_at) GROUP BY n.brand
)
SELECT brand, coalesce(searches, 0) AS searches, coalesce(with_an_email, 0) AS with_an_email,
       coalesce(charged, 0) AS charged, coalesce(reused, 0) AS reused,
       coalesce(live_runs, 0) AS live_runs, coalesce(verified_emails, 0) AS verified_emails,
       usd, usd / nullif(verified_emails, 0) AS usd_per_email
FROM answered FULL JOIN run USING (brand) ORDER BY searches DESC, brand
