"""The rows of the fault matrix that the model can play: each a scenario with its recovery time."""
