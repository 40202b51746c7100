-- By month
-- Searches count in the month of their answer, runs and their cost in the month of their end.
WITH happened AS (
    SELECT settled_at AS happened_at, 1 AS searches, charged, cached, 0 AS runs,
           NULL AS done, NULL AS emails, NULL AS usd
    FROM searches UNION ALL
    SELECT ended_at, 0, NULL, NULL, 1, outcome = 'done', emails, NULL FROM lookups UNION ALL
    SELECT ended_at, 0, NULL, NULL, 0, NULL, NULL, usd FROM priced_costs
)
SELECT strftime(happened_at, '%Y-%m') AS month, sum(searches) AS searches,
       count(*) FILTER (charged) AS charged, count(*) FILTER (cached) AS reused,
       sum(runs) AS runs, avg(done::INT) AS done_share,
       coalesce(sum(emails), 0) AS emails, sum(usd) AS usd,
       sum(usd) / nullif(sum(emails), 0) AS usd_per_email
FROM happened WHERE in_period(happened_at) GROUP BY month ORDER BY month
