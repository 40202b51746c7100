-- Mail domains
-- Runs that finished a mail domain. A catch-all domain accepts mail for every name. Put off: a server asked to come back later, as greylisting does.
SELECT mail_domain, count(*) AS checks, sum(people) AS people, sum(emails) AS emails,
       count(*) FILTER (catch_all) AS catch_all, count(*) FILTER (put_off) AS put_off,
       sum(emails) / nullif(sum(people), 0) AS share
FROM mail_checks WHERE in_period(checked_at) GROUP BY mail_domain
ORDER BY people DESC, mail_domain
