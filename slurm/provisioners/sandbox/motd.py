"""What a login node of the sandbox greets with. Pure."""

from slurm.provisioners.sandbox.cluster import SandboxCluster


def motd(cluster: SandboxCluster) -> str:
    gpus = sum(node.gpus for node in cluster.nodes)
    return (
        f"\n  Login node of {cluster.name}: Slurm {cluster.tree.slurm_version}, {len(cluster.nodes)} nodes"
        f"{f', {gpus} declared GPUs' if gpus else ''}.\n"
        "  sinfo shows the nodes, squeue the jobs; srun and sbatch run them.\n"
        f"{_motd_of_mounts(cluster)}\n"
    )


def _motd_of_mounts(cluster: SandboxCluster) -> str:
    """Where a job's files can be read from here: its own node's are not here."""
    homes = (
        f"  Your home, in {cluster.logins.homes_directory}, is the same on every node.\n"
        if cluster.logins.on
        else ""
    )
    if not cluster.mounts:
        return homes or "  No volume is mounted: what a job writes stays on its node.\n"
    places = ", ".join(f"{m.path} (read-only)" if m.read_only else m.path for m in cluster.mounts)
    return f"{homes}  On every node: {places}. All else that a job writes stays on its node.\n"
