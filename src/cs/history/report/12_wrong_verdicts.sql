-- Wrong verdicts
-- Verified e-mails per rule that verified them, and bounces reported in the period. The share exceeds 100 % if most of them were verified before the period.
WITH verified AS (
    SELECT coalesce(verifier, 'erased since') AS verifier, coalesce(rule, '') AS rule,
           count(*) AS emails
    FROM mailboxes WHERE in_period(checked_at) AND verified GROUP BY ALL
), bounce AS (
    SELECT verifier, coalesce(rule, '') AS rule, count(*) AS bounced
    FROM bounced_contacts WHERE in_period(told_at) GROUP BY ALL
)
SELECT verifier, rule, coalesce(emails, 0) AS emails, coalesce(bounced, 0) AS bounced,
       coalesce(bounced, 0) / nullif(emails, 0) AS share
FROM verified FULL JOIN bounce USING (verifier, rule)
ORDER BY bounced DESC, emails DESC, verifier, rule
