"""Images without Docker: Kwicket's from the hashed requirements, as an OCI archive."""
