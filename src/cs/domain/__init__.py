"""What is decided: events, commands, states and rules.  Pure: imports nothing else of ours."""
