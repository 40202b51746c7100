"""Events, commands, states and rules.  Pure: imports no other package of ours."""
