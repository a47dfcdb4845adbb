"""The Secrets that a cluster is created with, once. Pure, given a source of randomness.

They are no part of `render`: an existing one is never written again, and nothing of them is ever shown. Keys are
immutable; the operator starts the controller anew when one changes, and a lost one is lost for every node.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping

from slurm.kube.kinds import SECRET, Thing
from slurm.provisioners.slinky.names import CLUSTER_LABEL, MANAGED_BY, MANAGER, Names
from slurm.provisioners.slinky.region import DatabaseKind, RegionSettings

SLURM_KEY_FILE = "slurm.key"
JWT_KEY_FILE = "jwt.key"
PASSWORD = "password"
SSSD_FILE = "sssd.conf"
KEY_BYTES = 1024
PASSWORD_BYTES = 24
# People come as root or as accounts of the image's own /etc/passwd; a site with a directory replaces this Secret.
SSSD_CONF = """\
[sssd]
services = nss, pam
domains = local

[nss]
filter_users = root,slurm
filter_groups = root,slurm

[domain/local]
id_provider = proxy
proxy_lib_name = files
auth_provider = none
access_provider = permit
"""

# So many random bytes, as `secrets.token_bytes`.
Random = Callable[[int], bytes]


def secret_objects(
    names: Names, settings: RegionSettings, random: Random, *, database_password: str = ""
) -> tuple[Thing, ...]:
    """In creation order. `database_password` is that of the region's existing database; our own gets a random one."""
    is_own = settings.database.kind is DatabaseKind.OWN
    password = random(PASSWORD_BYTES).hex() if is_own else database_password
    return (
        _secret(names, names.slurm_key, {SLURM_KEY_FILE: random(KEY_BYTES)}, immutable=True),
        _secret(names, names.jwt_key, {JWT_KEY_FILE: random(KEY_BYTES)}, immutable=True),
        _secret(names, names.database, {PASSWORD: password.encode()}),
        _secret(names, names.sssd, {SSSD_FILE: SSSD_CONF.encode()}),
    )


def _secret(names: Names, name: str, data: Mapping[str, bytes], *, immutable: bool = False) -> Thing:
    labels = {MANAGED_BY: MANAGER, CLUSTER_LABEL: names.key}
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.name,
        "metadata": {"name": name, "namespace": names.namespace, "labels": labels},
        "type": "Opaque",
        **({"immutable": True} if immutable else {}),
        "data": {key: b64encode(value).decode() for key, value in data.items()},
    }
