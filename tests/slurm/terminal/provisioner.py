"""A platform that is nothing but a login node: the tests' private sshd, its address in the region's config."""

from clusters.provisioner import ClusterRef, LoginEndpoint
from console.errors import Unavailable


class PrivateSshd:
    """The part of a provisioner that terminals use."""

    def __init__(self, ref: ClusterRef) -> None:
        self.ref = ref

    def login(self) -> LoginEndpoint:
        facts = self.ref.region
        if facts.get("is_down"):
            raise Unavailable("The login node is not up yet.", "It is started again by itself.")
        return LoginEndpoint(
            str(facts["host"]),
            int(str(facts["port"])),
            str(facts["user"]),
            str(facts["host_key"]),
            tunnel=facts.get("tunnel") or {},
        )
