"""The ledgers behind the port: where the state of a pool is kept."""
