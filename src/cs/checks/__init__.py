"""Counters of status and usage checks: 120 a minute for each key."""
