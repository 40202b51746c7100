"""What a process counts and measures of itself, for ``/metrics`` on its admin port."""
