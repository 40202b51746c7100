"""Mail that came back: read from files and bodies, and recorded."""
