"""What any program needs that runs for long: time, ids, logs, locks; nothing of contacts."""
