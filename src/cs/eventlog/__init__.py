"""The event log: events of streams, appended and read in order; the only truth."""
