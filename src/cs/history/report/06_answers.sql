-- Answers of sources
-- Number of attempts by source and answer, failed attempts included.
SELECT stage, source, coalesce(answer, 'not known') AS answer, count(*) AS attempts
FROM sources WHERE in_period(ended_at)
GROUP BY ALL ORDER BY stage, source, attempts DESC, answer
