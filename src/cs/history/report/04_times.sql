-- Time to answer by stage
-- Runs that ended. The time of a stage is from its first attempt to the end of its last one, with retries and the waits between them. Retries are attempts after the first.
WITH run AS (FROM lookups WHERE in_period(ended_at)), stage AS (
    SELECT lookup, stage, count(*) FILTER (a.ended = 'cut-off') > 0 AS cut_off,
           count(*) FILTER (attempt > 1) AS again, count(*) FILTER (a.ended = 'failed') AS failed,
           date_diff('microsecond', min(issued_at), max(a.ended_at)) / 1e6 AS seconds
    FROM stages a JOIN run USING (lookup) GROUP BY lookup, stage
), timed AS (
    SELECT 1 AS n, 'search, live' AS what, seconds, false AS cut_off, 0 AS failed, 0 AS again
    FROM searches WHERE in_period(settled_at) AND NOT cached UNION ALL
    SELECT 2, 'run', seconds, cut_off, 0, 0 FROM run UNION ALL
    SELECT list_position(['brand-resolution', 'contact-discovery', 'ranking', 'verification'],
                         stage) + 2, stage, seconds, cut_off, failed, again FROM stage
)
SELECT what, count(*) FILTER (NOT cut_off) AS timed,
       quantile_disc(seconds, 0.5) FILTER (NOT cut_off) AS p50_seconds,
       quantile_disc(seconds, 0.95) FILTER (NOT cut_off) AS p95_seconds,
       max(seconds) FILTER (NOT cut_off) AS longest_seconds,
       count(*) FILTER (cut_off) AS cut_off, sum(failed) AS failed, sum(again) AS again
FROM timed GROUP BY n, what ORDER BY n
