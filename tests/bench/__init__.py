"""The benchmark of the decision: the real core, in one process, without a cluster."""
