-- Summary
-- Searches are counted when they are answered, live runs when they end. E-mails are verified ones.
WITH s AS (FROM searches WHERE in_period(settled_at)), l AS (FROM lookups WHERE in_period(ended_at)),
counted AS (SELECT
    (SELECT count(*) FROM searches WHERE in_period(asked_at)) AS searches_asked,
    (SELECT count(*) FROM s) AS searches_answered,
    (SELECT count(*) FROM s WHERE outcome = 'done') AS done,
    (SELECT count(*) FROM s WHERE charged) AS charged,
    (SELECT count(*) FROM s WHERE cached) AS reused,
    (SELECT count(*) FROM l) AS runs,
    (SELECT count(*) FROM l WHERE cut_off) AS cut_off_by_their_deadline,
    (SELECT coalesce(sum(emails), 0) FROM l) AS emails,
    (SELECT sum(emails) / count(*) FROM l) AS emails_per_run,
    (SELECT quantile_disc(seconds, 0.5) FROM s WHERE NOT cached) AS half_answered_in_seconds,
    (SELECT quantile_disc(seconds, 0.95) FROM s WHERE NOT cached) AS most_answered_in_seconds,
    (SELECT sum(c.usd) FROM priced_costs c WHERE in_period(c.ended_at)) AS usd,
    (SELECT count(*) FROM mailboxes m JOIN people p USING (person)
     WHERE in_period(m.checked_at) AND p.erased) AS checks_of_people_erased_since
)
SELECT * EXCLUDE (checks_of_people_erased_since), usd / nullif(emails, 0) AS usd_per_email,
       checks_of_people_erased_since
FROM counted
