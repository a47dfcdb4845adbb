"""Where the login node is reached from outside of the cluster."""

import pytest

from slurm.provisioners.slinky.endpoint import address_of

MACHINE = {
    "status": {
        "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "m7"}]
    }
}
OUTSIDE = {
    "status": {
        "addresses": [*MACHINE["status"]["addresses"], {"type": "ExternalIP", "address": "198.51.100.7"}]
    }
}


def service(kind, ingress=(), **port):
    ports = [{"port": 22, **port}]
    return {"spec": {"type": kind, "ports": ports}, "status": {"loadBalancer": {"ingress": list(ingress)}}}


@pytest.mark.parametrize(
    ("found", "machine", "expected"),
    [
        (service("LoadBalancer", [{"ip": "198.51.100.1"}]), None, ("198.51.100.1", 22)),
        (service("LoadBalancer", [{"hostname": "lb.example.org"}]), None, ("lb.example.org", 22)),
        (service("LoadBalancer", [{"ip": "198.51.100.1"}], port=2222), None, ("198.51.100.1", 2222)),
        (service("LoadBalancer"), None, None),
        (service("NodePort", nodePort=30022), MACHINE, ("10.0.0.7", 30022)),
        (service("NodePort", nodePort=30022), OUTSIDE, ("198.51.100.7", 30022)),
        (service("NodePort", nodePort=30022), None, None),
        (service("ClusterIP"), MACHINE, None),
        (None, None, None),
    ],
)
def test_an_address_is_taken_where_there_is_one(found, machine, expected):
    assert address_of(found, machine) == expected
