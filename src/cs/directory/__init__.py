"""The operator's own directory of people: imported, sealed, and stored in a database."""
