"""What the engine asks of the outside: Protocols and their errors."""
