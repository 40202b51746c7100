"""Parts of any program that runs for long: time, ids, logs, locks; nothing of contacts."""
