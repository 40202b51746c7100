"""Brand and people sources that come with the service, and what runs any source safely."""
