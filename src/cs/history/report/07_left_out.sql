-- Left out
-- Why people were found and not ranked. The share is of all people found in runs that ended.
SELECT p.left_out AS why, count(*) AS people,
       count(*) / (SELECT sum(found) FROM lookups WHERE in_period(ended_at)) AS share
FROM people p JOIN lookups l USING (lookup)
WHERE in_period(l.ended_at) AND p.left_out IS NOT NULL GROUP BY why ORDER BY people DESC, why
