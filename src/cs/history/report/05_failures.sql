-- Failures
-- Attempts that failed, and sources that failed in attempts that succeeded. The cause is the error of the source, or else that of the attempt.
WITH failed AS (
    SELECT a.stage, s.source, coalesce(s.why, a.why) AS cause, a.ended_position AS position, a.ended_at
    FROM stages a LEFT JOIN sources s
      ON s.position = a.ended_position AND s.stage = a.stage AND s.why IS NOT NULL
    WHERE a.ended = 'failed' UNION ALL
    SELECT s.stage, s.source, s.why, s.position, s.ended_at
    FROM sources s JOIN stages a ON a.ended_position = s.position AND a.stage = s.stage
    WHERE a.ended = 'answered' AND s.why IS NOT NULL
)
SELECT stage, source, cause, count(DISTINCT position) AS attempts, max(ended_at) AS last_at
FROM failed WHERE in_period(ended_at) GROUP BY ALL ORDER BY attempts DESC, stage, source, cause
