"""Tags of clusters' templates."""
