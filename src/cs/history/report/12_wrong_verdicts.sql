-- Wrong verdicts
-- By which rule e-mails were verified, and which of those came back for good, as reported in the period. More than 100 % where most were verified before it.
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
