"""The REST API of volumes and mounts, below /api/v1/."""
