"""The Kubernetes shell: everything that speaks HTTP or kopf lives here."""
