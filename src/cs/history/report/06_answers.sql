-- Answers of sources
-- What each source answered to how many attempts, failed attempts included.
SELECT stage, source, coalesce(answer, 'not known') AS answer, count(*) AS attempts
FROM sources WHERE in_period(ended_at)
GROUP BY ALL ORDER BY stage, source, attempts DESC, answer
