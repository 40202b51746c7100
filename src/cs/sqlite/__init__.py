"""SQLite: how a file is opened, its transactions and threads, and what its errors mean."""
