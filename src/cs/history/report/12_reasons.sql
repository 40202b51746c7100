-- Reasons
-- Why verifiers read addresses as they did; people erased since left out.
SELECT rule AS reason, verdict, count(*) AS addresses, count(*) / sum(count(*)) OVER () AS share
FROM evidence WHERE in_period(checked_at) GROUP BY ALL ORDER BY addresses DESC, reason, verdict
LIMIT 20
