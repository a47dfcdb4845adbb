"""What depends on teams that have clusters here already: quotas, ways to login nodes, the accounting database."""

from collections.abc import Iterable, Sequence

from clusters.finding import Finding, State
from console.words import count, listed
from slurm.kube.kinds import Thing
from slurm.provisioners.slinky.ready.quantity import amount
from slurm.provisioners.slinky.region import DatabaseKind, LoginBy, RegionSettings


def quota_finding(quotas: Iterable[Thing], prefix: str) -> Finding:
    """Quotas in the namespaces of teams; a quota on what counts keeps a worker from being made at all."""
    title, key = "Quotas", "quotas"
    ours = [one for one in quotas if one["metadata"]["namespace"].startswith(f"{prefix}-")]
    if not ours:
        return Finding(key, title, State.OK, "No team's namespace has one.")
    full, details = [], []
    for one in ours:
        hard, used = one.get("status", {}).get("hard", {}), one.get("status", {}).get("used", {})
        where = f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        details.append(
            f"{where}: {', '.join(f'{used.get(k, 0)} of {v} {k}' for k, v in sorted(hard.items()))}"
        )
        full += [f"{where} ({k})" for k, v in hard.items() if amount(used.get(k, 0)) >= amount(v)]
    if full:
        hint = "Their teams get no more of it until some is given back or the quota is raised."
        return Finding(key, title, State.WARN, f"{listed(full, most=3)} is used up.", hint, tuple(details))
    return Finding(key, title, State.OK, f"{count(len(ours), 'quota')}, none used up.", "", tuple(details))


def login_finding(services: Sequence[Thing], login_by: LoginBy) -> Finding:
    """`services` are those of our login nodes."""
    title, key = "Login nodes", "login"
    if login_by is LoginBy.PORT_FORWARD:
        return Finding(key, title, State.OK, "The browser's terminal reaches them through the API server.")
    if login_by is LoginBy.NODE_PORT:
        hint = "The console and people's ssh reach machines at their addresses: open the ports 30000 to 32767 to both."
        return Finding(key, title, State.UNKNOWN, "Each gets a port on every machine.", hint)
    balanced = [one for one in services if one.get("spec", {}).get("type") == "LoadBalancer"]
    waiting = [one for one in balanced if not one.get("status", {}).get("loadBalancer", {}).get("ingress")]
    if waiting:
        namespace, name = waiting[0]["metadata"]["namespace"], waiting[0]["metadata"]["name"]
        return Finding(
            key,
            title,
            State.WARN,
            f"{namespace}/{name} has been given no address.",
            "Is there a load balancer (a cloud's, MetalLB, kube-vip)? Otherwise choose another way in the settings.",
            commands=(f"kubectl -n {namespace} describe service {name}",),
        )
    if balanced:
        return Finding(
            key, title, State.OK, f"{count(len(balanced), 'login node')} with an address of its own."
        )
    hint = "If there is no load balancer (a cloud's, MetalLB, kube-vip), choose another way in the settings."
    return Finding(
        key, title, State.UNKNOWN, "The first cluster shows whether a load balancer answers.", hint
    )


def database_finding(settings: RegionSettings, *, has_password: bool) -> Finding:
    title, key, database = "Accounting's database", "database", settings.database
    if database.kind is DatabaseKind.OWN:
        return Finding(key, title, State.OK, "Each cluster gets a MariaDB of its own.")
    if not has_password:
        hint = "Type it in under “Replace credentials”."
        return Finding(key, title, State.BAD, f"There is no password for {database.host}.", hint)
    return Finding(
        key,
        title,
        State.UNKNOWN,
        f"{database.username} at {database.host}:{database.port}. Only pods can reach it, so it was not tried.",
        "The first cluster shows it: its accounting does not come up without.",
        commands=(f"GRANT ALL ON `slurm\\_acct\\_%`.* TO '{database.username}'@'%';",),
    )
