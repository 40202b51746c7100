"""PostgreSQL: connections, the schema and what several processes share through it."""
