"""Slurm clusters as Kubernetes workloads: the slinky provisioner, over SlinkyProject's slurm-operator 1.2.

`names`, `region`, `conf`, `render` and `order` are pure and say what a cluster should be; `adapter` is the port's
implementation, over `slurm.kube`. The operator's traps that shaped it are named where they are avoided.
"""
