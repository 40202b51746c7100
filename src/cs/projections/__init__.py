"""Views: rows made of events, and the answers read from them."""
