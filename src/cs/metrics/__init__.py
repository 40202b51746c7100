"""Metrics and spans of a process, for ``/metrics`` on its admin port."""
