"""A double of slurm-operator 1.2.1: it makes of the custom resources what the real one was seen to make.

The real operator cannot be had as a module, so the tests and the development demo run this small controller against
a real API server. What it copies was recorded of operator v1.2.1 on kube-apiserver 1.37 with real Slurm 26.05; each
docstring says which. kube-controller-manager makes the pods of StatefulSets and Deployments, the scheduler places them
and kwok says that they run; behind them the double starts the sandbox's real daemons (`room`), so that `pods/exec`,
`pods/portforward` and ssh reach a real Slurm. `switches` breaks it on purpose.

Left out: Token, DaemonSet mode, ScheduledUpdate (treated as OnDelete), `ssh` on workers, prolog and epilog scripts.
"""
