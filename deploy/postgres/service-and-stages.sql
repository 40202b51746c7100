-- The databases of the service and of the stages, each with one user who may do everything in
-- it and nothing anywhere else.  Run once, by psql as superuser, on a new cluster.
--
-- A user owns the database: `cs db migrate` adds tables to it, and new views are built beside
-- the old ones while the service runs.
\set ON_ERROR_STOP on
\getenv secrets CS_SECRETS
\if :{?secrets}
\else
    \set secrets /run/secrets
\endif
\set service_file :secrets /service_password
\set stages_file :secrets /stages_password
\set service_password `cat :'service_file'`
\set stages_password `cat :'stages_file'`

CREATE ROLE cs_service LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'service_password';
CREATE ROLE cs_stages LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION
    PASSWORD :'stages_password';

CREATE DATABASE service OWNER cs_service TEMPLATE template0 ENCODING 'UTF8';
CREATE DATABASE stages OWNER cs_stages TEMPLATE template0 ENCODING 'UTF8';

-- Unless told otherwise everybody may connect to every database.
REVOKE ALL ON DATABASE service, stages, postgres, template1 FROM PUBLIC;
