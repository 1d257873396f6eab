"""Values in, values out: the decision and its rules. No clock, no dice, no await, no framework."""
