"""Where a volume may be mounted: a table of single mistakes, and what stays of an old document."""

from dataclasses import replace

import pytest

from clusters.diff import FieldChange, Op, diff, sentence
from clusters.mount_rules import MOST_MOUNTS, SYSTEM, mount_problems
from clusters.spec import Mount, from_json, to_json
from clusters.validate import validate
from tests.cast import tiny_spec

KEY, OTHER = "v000000000001", "v000000000002"
SHARED = Mount(KEY, "scratch", "/shared")


def found(*mounts: Mount) -> list[str]:
    return [problem.path for problem in mount_problems(mounts)]


@pytest.mark.parametrize(
    "path", ["/shared", "/data/imagenet-1k", "/home", "/mnt", "/opt/tools", "/a_b.c/d", "/tmpfs"]
)
def test_a_path_of_their_own_is_taken(path: str) -> None:
    assert found(replace(SHARED, path=path)) == []


BAD = [
    "",
    "shared",
    "/",
    "/shared/",
    "//shared",
    "/a//b",
    "/..",
    "/shared/..",
    "/shared/../etc",
    "/./shared",
    "/a b",
]
BAD += ["/a:b", "/a,b", "/a\\b", "/a\nb", "/-a", "/.hidden", "/é", "/$HOME", "/" + "a" * 200]


@pytest.mark.parametrize("path", [*BAD, *SYSTEM, *(f"{top}/below" for top in SYSTEM)])
def test_a_path_that_is_none_or_the_systems_is_refused_at_its_field(path: str) -> None:
    assert found(Mount(OTHER, "data", "/data"), replace(SHARED, path=path)) == ["mounts[1].path"]


@pytest.mark.parametrize("path", ["/shared", "/shared/deeper", "/shared/a/b"])
def test_paths_do_not_overlap_either_way(path: str) -> None:
    one, other = SHARED, Mount(OTHER, "data", path)
    assert found(one, other) == ["mounts[1].path"]
    assert found(other, one) == ["mounts[1].path"]


def test_names_that_only_begin_alike_do_not_overlap() -> None:
    assert found(SHARED, Mount(OTHER, "data", "/shared2")) == []


def test_a_volume_has_one_path() -> None:
    assert found(SHARED, replace(SHARED, path="/again")) == ["mounts[1].volume"]


def test_a_key_is_one_that_a_volume_can_have() -> None:
    assert found(replace(SHARED, volume="../../etc")) == ["mounts[0].volume"]


def test_mounts_are_counted() -> None:
    many = [Mount(f"v{n:012x}", f"n{n}", f"/m{n}") for n in range(MOST_MOUNTS + 1)]
    assert found(*many) == ["mounts"]


def test_a_spec_is_asked_for_its_mounts_and_their_text() -> None:
    assert validate(tiny_spec(mounts=(SHARED,))) == ()
    paths = [problem.path for problem in validate(tiny_spec(mounts=(replace(SHARED, name="a\x1bb"),)))]
    assert paths == ["mounts[0].name"]


def test_a_spec_from_before_there_were_mounts_is_read() -> None:
    old = to_json(tiny_spec())
    del old["mounts"]
    assert from_json(old) == tiny_spec()


def test_a_spec_with_mounts_comes_back_as_it_was() -> None:
    spec = tiny_spec(mounts=(SHARED, Mount(OTHER, "data", "/data", read_only=True)))
    assert from_json(to_json(spec)) == spec


BARE, WITH = tiny_spec(), tiny_spec(mounts=(SHARED,))
DIFFS = {
    "mounted": (
        BARE, WITH, [FieldChange(Op.ADD, "mounts[/shared]", "", "scratch")], "Volumes: mount scratch at /shared",
    ),
    "unmounted": (
        WITH, BARE, [FieldChange(Op.REMOVE, "mounts[/shared]", "scratch", "")],
        "Volumes: unmount scratch from /shared",
    ),
    "read-only": (
        WITH, tiny_spec(mounts=(replace(SHARED, read_only=True),)),
        [FieldChange(Op.CHANGE, "mounts[/shared]", "scratch", "scratch, read-only")],
        "Volumes: mount scratch, read-only at /shared",
    ),
    "renamed": (WITH, tiny_spec(mounts=(replace(SHARED, name="other"),)), [], "Nothing changes"),
}  # fmt: skip


@pytest.mark.parametrize("case", DIFFS)
def test_mounts_differ_by_path_and_volume(case: str) -> None:
    old, new, wanted, said = DIFFS[case]
    changes = diff(old, new)
    assert list(changes) == wanted
    assert sentence(changes) == said
