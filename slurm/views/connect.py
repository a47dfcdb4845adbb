"""How to reach the login node with one's own SSH client: commands, an ssh_config, and a certificate over one's key."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from clusters.access import Door, cluster_view
from clusters.provisioner import LoginEndpoint
from console.errors import ConsoleError, Rejected
from console.page import render_page
from console.roles import Action
from slurm.connecting import (
    MINUTES,
    MOST_MINUTES,
    Pass,
    address_of,
    host_alias,
    known_host,
    sign_key,
    ssh_config,
)
from slurm.terminal.opening import ssh_command


@dataclass(frozen=True)
class Ways:
    """What a person copies."""

    command: str
    alias: str
    known_host: str
    known_hosts_file: str
    config: str


@cluster_view(Action.TERMINAL)
def connect(request: HttpRequest, door: Door) -> HttpResponse:
    """POST signs the key that was pasted and shows the certificate, once."""
    context: dict[str, object] = {
        "door": door,
        "cluster": door.cluster,
        "tab": "connect",
        "minutes": MINUTES,
        "most_minutes": MOST_MINUTES,
        "has_logins": door.cluster.spec.logins.on,
        "has_keys": _has_keys(door),
        "typed": request.POST.get("public_key", ""),
    }
    try:
        context["ways"] = _ways(request, door, address_of(door))
        if request.method == "POST":
            made = sign_key(door, request.POST.get("public_key", ""))
            context |= {"made": made, "command": _command(door, made)}
    except Rejected as error:
        context["problems"] = error.problems
        return render_page(request, "slurm/connect.html", context, status=error.status)
    except ConsoleError as error:
        context["error"] = error
    return render_page(request, "slurm/connect.html", context)


def _has_keys(door: Door) -> bool:
    """Whether a plain ssh may work: with one's own keys where there are login users, else with the cluster's."""
    if door.cluster.spec.logins.on:
        return door.membership.user.ssh_keys.exists()
    return bool(door.cluster.spec.ssh_keys)


def _ways(request: HttpRequest, door: Door, endpoint: LoginEndpoint) -> Ways:
    where = {"team": door.cluster.team.slug, "cluster": door.cluster.slug}
    url = request.build_absolute_uri(reverse("api-ssh-certificate", kwargs=where))
    return Ways(
        command=ssh_command(endpoint),
        alias=host_alias(door),
        known_host=known_host(door, endpoint),
        known_hosts_file=f"~/.ssh/quarterdeck-{door.cluster.key}-known-hosts",
        config=ssh_config(door, endpoint, url),
    )


def _command(door: Door, made: Pass) -> str:
    """With the certificate in a file beside the key that it is over."""
    end = made.endpoint
    return f"ssh -o CertificateFile=quarterdeck-cert.pub -p {end.port} {end.user}@{end.host}"
