"""Commands of an operator on the log: keys, quota, the pause switch, erasure, retention."""
