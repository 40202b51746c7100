-- Verdicts
-- Of people checked at one mail domain each. What was found out about people erased since is left out, but for verified e-mails.
SELECT coalesce(verdict, 'erased since') AS verdict, count(*) AS people,
       count(*) / sum(count(*)) OVER () AS share
FROM mailboxes WHERE in_period(checked_at) GROUP BY verdict ORDER BY people DESC, verdict
