"""The sandbox: a real Slurm cluster as ordinary processes of this machine, in a root tree of its own.

`tree` builds the root tree of an image from Debian packages, `space` enters it, `keeper` runs the daemons inside,
`layout` and `daemons` say what is in it, `shadow` and `apply` change it safely, `adapter` is the provisioner over all
of these. Nothing but the adapter knows Django or `ClusterSpec`. This file imports nothing: the keeper starts from here
with the bare standard library.
"""
