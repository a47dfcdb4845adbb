"""What a slinky region's parts look like, as findings: from plain objects to sentences. Pure; `readiness` does the
looking. Each module is about one thing that clusters need there."""
