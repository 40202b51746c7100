-- Age of reused results
-- Age of the results that answered searches from reuse.
WITH age AS (
    SELECT date_diff('microsecond', l.ended_at, s.settled_at) / 86400e6 AS days
    FROM searches s LEFT JOIN lookups l USING (lookup)
    WHERE in_period(s.settled_at) AND s.cached
), band AS (
    FROM (VALUES (0, 1), (1, 3), (3, 7), (7, 14), (14, 21), (21, 30), (30, 1e9)) b(low, high)
)
SELECT CASE WHEN high > 30 THEN '30 on' ELSE low::INT || ' to ' || high::INT END AS days,
       count(age.days) AS searches, count(age.days) / nullif(sum(count(age.days)) OVER (), 0) AS share,
       quantile_disc(age.days, 0.5) * 86400 AS median_seconds
FROM band LEFT JOIN age ON age.days >= low AND age.days < high
GROUP BY low, high HAVING low < 30 OR count(age.days) > 0 ORDER BY low
