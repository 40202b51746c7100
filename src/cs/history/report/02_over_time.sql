-- Over time
-- Searches answered and runs ended, per day, week or four weeks, depending on the length of the period.
WITH span AS (
    SELECT CASE WHEN days <= 62 THEN INTERVAL 1 DAY WHEN days <= 400 THEN INTERVAL 7 DAYS
                ELSE INTERVAL 28 DAYS END AS step
    FROM (SELECT date_diff('day', coalesce(any_value(e.since), min(s.asked_at)),
                           coalesce(any_value(e.until), max(s.asked_at))) AS days
          FROM export e LEFT JOIN searches s ON true)
), happened AS (
    SELECT settled_at AS happened_at, 1 AS answered, outcome = 'done' AS done, charged, cached,
           0 AS runs, 0 AS emails
    FROM searches UNION ALL
    SELECT ended_at, 0, NULL, NULL, NULL, 1, emails FROM lookups
)
SELECT time_bucket(step, happened_at, TIMESTAMP '1970-01-05') AS begins_at,
       sum(answered) AS searches, count(*) FILTER (done) AS done,
       count(*) FILTER (charged) AS charged, count(*) FILTER (cached) AS reused,
       sum(runs) AS runs, sum(emails) AS emails
FROM happened, span WHERE in_period(happened_at) GROUP BY begins_at ORDER BY begins_at
