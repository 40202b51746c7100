-- Disagreements
-- Addresses about which two verifiers said different things, *unknown* aside. A later verifier is asked only where an earlier one left it open.
WITH said AS (
    SELECT DISTINCT position, address_n, verifier, verdict FROM evidence
    WHERE in_period(checked_at) AND verdict <> 'unknown'
)
SELECT one.verifier, one.verdict AS said, other.verifier AS other, other.verdict AS other_said,
       count(*) AS addresses
FROM said one JOIN said other USING (position, address_n)
WHERE one.verifier < other.verifier AND one.verdict <> other.verdict
GROUP BY ALL ORDER BY addresses DESC, one.verifier, said, other, other_said
