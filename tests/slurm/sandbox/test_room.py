"""A cluster's root where the file system cannot hold an overlay."""

from dataclasses import replace
from pathlib import Path

from slurm.provisioners.sandbox.__main__ import sample_cluster, sample_files
from slurm.provisioners.sandbox.images import Tree
from slurm.provisioners.sandbox.layout import lay_out, room_of
from slurm.provisioners.sandbox.room import remove_directory, room_from, room_text
from slurm.provisioners.sandbox.space import keeping, start_keeper, stop_keeper
from tests.slurm.sandbox.conftest import slurm, until_idle


def test_a_cluster_without_an_overlay_has_its_own_files_and_leaves_the_tree_alone(
    tree: Tree, tmp_path: Path
) -> None:
    made = sample_cluster(tmp_path / "plain", tree, gpu_nodes=1, cpu_nodes=0)
    lay_out(made, sample_files(made))
    (made.home / "keeper/room.json").write_text(room_text(replace(room_of(made), plain=True)))
    start_keeper(made.home, prefix=False)
    try:
        until_idle(made)
        state = keeping(made.home)
        assert state and state.form == "plain"
        slurm(made, "sh", "-c", "echo mine > /etc/mine && echo mine > /var/tmp/mine")
        assert slurm(made, "srun", "-t1", "--gres=gpu:1", "cat", "/etc/mine") == "mine"
    finally:
        stop_keeper(made.home)
    assert not (tree.root / "etc/mine").exists()
    remove_directory(made.home)
    assert not made.home.exists()


def test_a_room_is_stored_and_read_back(tree: Tree, tmp_path: Path) -> None:
    room = room_of(sample_cluster(tmp_path / "stored", tree))
    assert room_from(room_text(room)) == room
