"""Mail that came back: read from what sending tools write, and recorded."""
