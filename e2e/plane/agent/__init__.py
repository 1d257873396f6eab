"""The node agent: nodes of a plane, whose containers are local processes."""
