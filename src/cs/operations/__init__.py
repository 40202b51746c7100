"""What an operator does to the log: keys, quota, the pause switch, erasure, retention."""
