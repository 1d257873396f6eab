"""How many grants a second PostgreSQL takes, from operators that decide at once."""
