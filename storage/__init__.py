"""Volumes and mounts: the place is kept in the layout; nothing mounts yet."""
