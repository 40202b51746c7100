-- Outcomes
-- Outcomes of answered searches and of live runs.
WITH ended AS (
    SELECT outcome, 1 AS search, 0 AS run FROM searches WHERE in_period(settled_at) UNION ALL
    SELECT outcome, 0, 1 FROM lookups WHERE in_period(ended_at)
)
SELECT outcome, sum(search) AS searches, sum(search) / nullif(sum(sum(search)) OVER (), 0) AS share,
       sum(run) AS runs, sum(run) / nullif(sum(sum(run)) OVER (), 0) AS share_of_runs
FROM ended GROUP BY outcome ORDER BY searches DESC, outcome
