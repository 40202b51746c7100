"""The operator's own directory of people: who was imported, sealed, and where they are kept."""
