"""Which ports a sandbox cluster chooses, and that it keeps them."""

import socket
from pathlib import Path

import pytest

from console.errors import Unavailable
from slurm.provisioners.sandbox.ports import ports_of

NODES = ("slinky-0", "slinky-1")


def all_of(home: Path, nodes: tuple[str, ...] = NODES, first: int = 17000, last: int = 29999) -> set[int]:
    fixed, of_nodes = ports_of(home, nodes, first, last)
    return {fixed.slurmctld, fixed.slurmdbd, fixed.sshd, *of_nodes.values()}


def test_clusters_of_two_consoles_made_in_one_moment_choose_apart(tmp_path: Path) -> None:
    """Neither listens yet, and neither reads the other's directory."""
    homes = [tmp_path / console / "clusters" / "demo" for console in ("one", "two")]
    for home in homes:
        home.parent.mkdir(parents=True)
    assert not all_of(homes[0]) & all_of(homes[1])


def test_clusters_of_one_console_never_share(tmp_path: Path) -> None:
    chosen = [all_of(tmp_path / f"c{number}", last=17200) for number in range(12)]
    assert len(set().union(*chosen)) == sum(map(len, chosen))


def test_ports_are_kept_when_nodes_come_and_go(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    before = ports_of(home, NODES)
    _, more = ports_of(home, (*NODES, "slinky-2"))
    assert ports_of(home, NODES[:1])[0] == before[0]
    assert ports_of(home, (*NODES, "slinky-2"))[1] == more
    assert more["slinky-1"] == before[1]["slinky-1"]


def test_the_whole_range_is_used_before_it_is_called_full(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        used = int(taken.getsockname()[1])
        assert len(all_of(tmp_path / "small", first=used - 5, last=used + 5)) == 5
        with pytest.raises(Unavailable, match="free TCP ports"):
            all_of(tmp_path / "large", tuple(f"n{number}" for number in range(9)), used - 5, used + 5)
