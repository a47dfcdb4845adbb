"""What an adapter is told of the cluster that it is for. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ClusterRef:
    """Which cluster, for an adapter: `key` is unique for ever and safe as a path and as a DNS label.

    `region` is the region's `config`; its secrets are sealed under `region_slug`. `ssh_ca` is the public key of the
    cluster's SSH authority, one OpenSSH line: the login node trusts it (`TrustedUserCAKeys`), and a certificate's
    principal is the login user's name.
    """

    key: str
    name: str
    team: str
    region: Mapping[str, object] = field(default_factory=dict)
    ssh_ca: str = ""
    region_slug: str = ""
