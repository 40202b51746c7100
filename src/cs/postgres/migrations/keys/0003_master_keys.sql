-- Master keys that some keys are wrapped with still, while the master key is changed; the one in
-- use is in `master`.
CREATE TABLE older_master (
    proof BYTEA PRIMARY KEY
);
