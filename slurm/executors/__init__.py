"""Where Slurm's commands run: beside the controller. Each module implements
`clusters.provisioner.Executor`."""
