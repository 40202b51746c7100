"""Files of people and of companies: CSV, JSON lines or Parquet, read row by row."""
