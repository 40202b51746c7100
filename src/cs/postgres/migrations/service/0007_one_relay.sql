-- Driving and relaying are no longer shared out in parts.  The only relay goes on from where
-- the last of the parts is; the tables stay for processes of the version before.
UPDATE checkpoints SET epoch = 0, position = (
    SELECT min(position) FROM checkpoints, parts
    WHERE name LIKE 'relay-%/' || number
)
WHERE name = 'relay' AND (SELECT number FROM parts) > 1;
UPDATE parts SET number = 1 WHERE number > 1;
