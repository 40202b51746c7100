-- By month
-- Searches by when they were answered, runs and their cost by when they ended.
WITH answered AS (
    SELECT strftime(settled_at, '%Y-%m') AS month, count(*) AS searches,
           count(*) FILTER (charged) AS charged, count(*) FILTER (cached) AS reused
    FROM searches WHERE in_period(settled_at) GROUP BY month
), run AS (
    SELECT strftime(ended_at, '%Y-%m') AS month, count(*) AS live_runs,
           count(*) FILTER (outcome = 'done') / count(*) AS done_share,
           sum(verified) AS verified_emails, sum(verified) / count(*) AS emails_per_run
    FROM lookups WHERE in_period(ended_at) GROUP BY month
), cost AS (
    SELECT strftime(ended_at, '%Y-%m') AS month, sum(usd) AS usd
    FROM priced_costs WHERE in_period(ended_at) GROUP BY month
)
SELECT month, coalesce(searches, 0) AS searches, coalesce(charged, 0) AS charged,
       coalesce(reused, 0) AS reused, coalesce(live_runs, 0) AS live_runs, done_share,
       coalesce(verified_emails, 0) AS verified_emails, emails_per_run, usd,
       usd / nullif(verified_emails, 0) AS usd_per_email
FROM answered FULL JOIN run USING (month) FULL JOIN cost USING (month) ORDER BY month
