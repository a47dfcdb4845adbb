"""A real Kubernetes API on this machine: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok.

Ordinary processes on loopback, without root and without a container engine. kwok pretends to be the nodes' kubelets:
pods become Running without running anything, and `pods/exec`, `pods/log` and `pods/portforward` reach what `Exec`,
`Logs` and `PortForward` objects name on this machine.
"""
