"""People sources: web search through SearXNG."""
