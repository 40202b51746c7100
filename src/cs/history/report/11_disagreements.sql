-- Disagreements
-- Addresses on which two verifiers gave different verdicts other than *unknown*. A later verifier is asked only if the earlier ones were not sure.
WITH said AS (
    SELECT DISTINCT position, address_n, verifier, verdict FROM evidence
    WHERE in_period(checked_at) AND verdict <> 'unknown'
)
SELECT one.verifier, one.verdict AS said, other.verifier AS other, other.verdict AS other_said,
       count(*) AS addresses
FROM said one JOIN said other USING (position, address_n)
WHERE one.verifier < other.verifier AND one.verdict <> other.verdict
GROUP BY ALL ORDER BY addresses DESC, one.verifier, said, other, other_said
