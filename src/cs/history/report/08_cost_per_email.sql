-- Cost per verified e-mail
-- Per source, verifier and language model, failed attempts included. Calls are paid calls. Found counts everything that it returned, used what no source before it had returned. E-mails are verified addresses of people it found first, or that it confirmed.
WITH credit AS (
    SELECT stage, name, sum(emails) AS emails FROM credits WHERE in_period(ended_at) GROUP BY ALL
), cost AS (
    SELECT stage, name, sum(asked) AS asked, sum(calls) AS calls, sum(found) AS found,
           sum(used) AS used, sum(usd) AS usd
    FROM priced_costs WHERE in_period(ended_at) GROUP BY ALL HAVING sum(asked) + sum(calls) > 0
)
SELECT stage, name, asked, calls, found, used, coalesce(emails, 0) AS emails, usd,
       usd / nullif(emails, 0) AS usd_per_email
FROM cost LEFT JOIN credit USING (stage, name) ORDER BY stage, name
