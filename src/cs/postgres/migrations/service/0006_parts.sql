-- In how many parts driving and relaying are shared out; whoever leads one has this number.
CREATE TABLE parts (number INTEGER NOT NULL);
CREATE UNIQUE INDEX parts_one_row ON parts ((true));
INSERT INTO parts (number) VALUES (1);

-- Processes that lead parts of a role or wait to, until when by the database's clock.
CREATE TABLE part_members (
    role TEXT NOT NULL,
    member TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (role, member)
);
