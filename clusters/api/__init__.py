"""The REST API of teams and clusters, below /api/v1/."""
