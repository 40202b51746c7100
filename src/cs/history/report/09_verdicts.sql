-- Verdicts
-- People per verdict, once for each mail domain at which they were checked. Of people erased since, only verified e-mails are counted under their verdict.
SELECT coalesce(verdict, 'erased since') AS verdict, count(*) AS people,
       count(*) / sum(count(*)) OVER () AS share
FROM mailboxes WHERE in_period(checked_at) GROUP BY verdict ORDER BY people DESC, verdict
