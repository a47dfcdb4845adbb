"""The Objects look at a change: a diff of what the platform is given, for those who may change the cluster."""

from collections.abc import Mapping

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from clusters.file_diff import LineOp, file_diffs
from tests.seed import Seed, seed

CHANGE = "/t/research/c/llama-pretrain/changes/3/"
LINES = [f"line {n}" for n in range(1, 41)]
texts = st.lists(st.sampled_from(["a", "b", "", "c d"]), max_size=30).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)


def replayed(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """`new` made of `old` by the diff alone."""
    made = dict(old)
    for file in file_diffs(old, new):
        lines = old.get(file.name, "").splitlines()
        for stretch in reversed(file.stretches):
            olds = [line.old for line in stretch.lines if line.old]
            at = olds[0] - 1 if olds else 0
            lines[at : at + len(olds)] = [line.text for line in stretch.lines if line.op is not LineOp.REMOVE]
        made[file.name] = "".join(f"{line}\n" for line in lines)
        if file.word == "removed":
            del made[file.name]
    return made


@given(st.dictionaries(st.sampled_from("abc"), texts), st.dictionaries(st.sampled_from("abc"), texts))
def test_the_diff_says_all_that_differs(old, new):
    assert replayed(old, new) == new


def test_only_what_changed_is_shown_with_three_lines_around_it():
    new = [*LINES[:19], "other", *LINES[20:]]
    (file,) = file_diffs({"x": "\n".join(LINES), "same": "y"}, {"x": "\n".join(new), "same": "y"})
    (stretch,) = file.stretches
    assert (file.word, file.added, file.removed, stretch.skipped) == ("changed", 1, 1, 16)
    assert file.text.splitlines() == [
        "@@ -17,7 +17,7 @@",
        " line 17",
        " line 18",
        " line 19",
        "-line 20",
        "+other",
        " line 21",
        " line 22",
        " line 23",
    ]


def test_files_that_come_and_go_are_named_so():
    found = file_diffs({"old": "a\n"}, {"new": "b\n"})
    assert [(file.name, file.word, file.text) for file in found] == [
        ("new", "added", "@@ -0,0 +1,1 @@\n+b"),
        ("old", "removed", "@@ -1,1 +0,0 @@\n-a"),
    ]


@pytest.fixture
def seeded(db: None) -> Seed:
    return seed()


def signed_in(seeded: Seed, name: str) -> Client:
    client = Client()
    client.force_login(seeded.users[name])
    return client


def test_admins_see_what_the_platform_gets_otherwise(seeded: Seed):
    ada = signed_in(seeded, "ada")
    assert "changes/3/objects/" in ada.get(CHANGE).content.decode()
    change = seeded.cluster.changes.get(number=3)
    assert change.base and change.revision and change.base != change.revision
    html = ada.get(f"{CHANGE}objects/").content.decode()
    assert "slurm.conf" in html and 'class="ln add"' in html


def test_operators_are_not_offered_it_and_do_not_get_it(seeded: Seed):
    ops = signed_in(seeded, "ops")
    assert "changes/3/objects/" not in ops.get(CHANGE).content.decode()
    assert ops.get(f"{CHANGE}objects/").status_code == 403


def test_a_creation_shows_everything_as_added(seeded: Seed):
    seeded.cluster.changes.filter(number=1).update(base=None, revision=seeded.cluster.revisions.last())
    html = signed_in(seeded, "ada").get("/t/research/c/llama-pretrain/changes/1/objects/").content.decode()
    assert "added" in html and 'class="ln del"' not in html and "ClusterName=llama-pretrain" in html


def test_an_ending_has_no_objects(seeded: Seed):
    seeded.cluster.changes.filter(number=3).update(base=None, revision=None)
    ada = signed_in(seeded, "ada")
    assert "objects/" not in ada.get(CHANGE).content.decode()
    assert "Nothing differs" in ada.get(f"{CHANGE}objects/").content.decode()


def test_the_api_gives_the_same_as_text(seeded: Seed):
    ada = signed_in(seeded, "ada")
    answer = ada.get("/api/v1/teams/research/clusters/llama-pretrain/changes/3/objects")
    (file,) = answer.json()
    assert (file["name"], file["what"]) == ("slurm.conf", "changed") and file["diff"].startswith("@@ -")
    ops = signed_in(seeded, "ops")
    assert ops.get("/api/v1/teams/research/clusters/llama-pretrain/changes/3/objects").status_code == 403
