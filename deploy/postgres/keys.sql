-- The database of the key store, in a cluster of its own.  Run once, by psql as superuser, on
-- a new cluster.
\set ON_ERROR_STOP on
\getenv secrets CS_SECRETS
\if :{?secrets}
\else
    \set secrets /run/secrets
\endif
\set keys_file :secrets /keys_password
\set keys_password `cat :'keys_file'`

CREATE ROLE cs_keys LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'keys_password';
CREATE DATABASE keys OWNER cs_keys TEMPLATE template0 ENCODING 'UTF8';
REVOKE ALL ON DATABASE keys, postgres, template1 FROM PUBLIC;
