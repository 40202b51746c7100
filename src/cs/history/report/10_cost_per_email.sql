-- Cost per verified e-mail
-- As the log recorded it, failed attempts included. E-mails: of people it named first, or that it confirmed.
WITH credit AS (
    SELECT stage, name, sum(verified) AS emails FROM credits WHERE in_period(ended_at) GROUP BY ALL
), cost AS (
    SELECT stage, name, sum(asked) AS asked, sum(calls) AS paid_calls, sum(found) AS found,
           sum(used) AS used, sum(usd) AS usd
    FROM priced_costs WHERE in_period(ended_at) GROUP BY ALL HAVING sum(asked) + sum(calls) > 0
)
SELECT stage, name, asked, paid_calls, found, used, usd, coalesce(emails, 0) AS emails,
       usd / nullif(emails, 0) AS usd_per_email
FROM cost LEFT JOIN credit USING (stage, name) ORDER BY stage, name
