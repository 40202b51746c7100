"""The console: pages of the admin port for operators and analysts."""
