-- Whether a time is in the period of the tables.
CREATE MACRO in_period(happened_at) AS
    happened_at >= coalesce((SELECT since FROM export), '-infinity'::TIMESTAMP)
    AND happened_at < coalesce((SELECT until FROM export), 'infinity'::TIMESTAMP);

-- Costs in US dollars.
CREATE VIEW priced_costs AS SELECT *, micros / 1e6 AS usd FROM costs;
