"""Virtual time around the core: scenarios and traces in, grants and figures out."""
