-- Verdicts of verifiers
-- Verdicts of each verifier on addresses, with the reason. People erased since are not included.
SELECT verifier, verdict, rule AS reason, count(*) AS addresses,
       count(*) FILTER (NOT answered) AS no_reply
FROM evidence WHERE in_period(checked_at)
GROUP BY ALL ORDER BY addresses DESC, verifier, verdict, reason
