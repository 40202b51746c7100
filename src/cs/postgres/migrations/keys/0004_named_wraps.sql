-- Whether keys are wrapped under the name of their master key: from the first time it is changed
-- on.  Until then they are wrapped as the version before reads them.
ALTER TABLE master ADD COLUMN named BOOLEAN NOT NULL DEFAULT false;
