"""Pages of what Slurm knows of a cluster: authorise by decorator, parse, ask once, show once."""
