"""Mail addresses, their patterns, and what a mail server's reply means."""
