"""Exports: the history as files that an analyst's own tools read.

Events as they are stored, as lines of JSON (`cs.history.lines`) or as Parquet; or typed
tables with ready views, in a DuckDB file or as a folder of Parquet files.  All of it is read
in order of position and in bounded memory.

The tables are made in two steps.  Each event is first written down as facts, rows of its own
that need no other event (`facts`), into a folder beside the file that is made, which says how
far it is (`staging`).  Joins over the facts then give the tables (`tables`), and views over
those (`views`).  DuckDB sorts and joins on disk what does not fit into memory
(docs/decisions/0033-tables-are-joined-from-facts.md).
"""
