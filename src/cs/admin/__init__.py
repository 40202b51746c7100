"""The admin port: readiness, the page of the API, and the clock of a sandbox."""
