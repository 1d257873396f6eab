"""End to end: the test plane, the walks over it, the demo and the benchmark."""
