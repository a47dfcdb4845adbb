"""The REST API of what Slurm knows: nodes, partitions, jobs and slurm.conf of one cluster."""
