-- By key
-- Answered searches per key. A live run counts for the key whose search started it.
SELECT s.key, any_value(k.label) AS label, count(*) AS searches,
       count(*) FILTER (s.charged) AS charged,
       count(*) FILTER (s.cached) AS reused,
       count(*) FILTER (NOT s.cached AND NOT s.joined) AS runs, sum(c.usd) AS usd
FROM searches s LEFT JOIN keys k USING (key)
LEFT JOIN (SELECT lookup, sum(usd) AS usd FROM priced_costs GROUP BY lookup) c
  ON c.lookup = s.lookup AND NOT s.cached AND NOT s.joined
WHERE in_period(s.settled_at) GROUP BY s.key ORDER BY searches DESC, s.key
