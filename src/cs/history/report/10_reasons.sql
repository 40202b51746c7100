-- Verdicts of verifiers
-- What each verifier read of addresses, and why. People erased since are left out.
SELECT verifier, verdict, rule AS reason, count(*) AS addresses,
       count(*) FILTER (NOT answered) AS no_reply
FROM evidence WHERE in_period(checked_at)
GROUP BY ALL ORDER BY addresses DESC, verifier, verdict, reason
