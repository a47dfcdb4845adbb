"""What login users of a spec may be, and specs from before there were any."""

from dataclasses import replace

import pytest

from clusters.login_rules import RESERVED, login_problems, name_problem, proposed_name
from clusters.spec import Leaver, LoginGroup, Logins, LoginUser, Mount, from_json, to_json
from clusters.validate import validate
from tests.cast import tiny_spec
from tests.clusters.keys import ED25519

MO, LIN = LoginUser("mo", 20000), LoginUser("lin", 20001)
SHARED = Mount("v00000000000a", "shared", "/shared")
CORPUS = Mount("v00000000000b", "corpus", "/data/corpus", read_only=True)


def found(*mounts: Mount, **fields: object) -> list[str]:
    spec = tiny_spec(mounts=mounts).with_logins(Logins(**{"on": True, "users": (MO, LIN), **fields}))  # type: ignore[arg-type]
    return [problem.path for problem in login_problems(spec)]


def test_ordinary_login_users_are_taken() -> None:
    assert found() == []
    assert found(SHARED, homes="/shared", groups=(LoginGroup("lab", 20002),)) == []


@pytest.mark.parametrize(
    "name", ["", "Mo", "1mo", "-mo", "mo!", "m o", "mo/", "mö", "m" * 33, *sorted(RESERVED)]
)
def test_a_name_that_is_none_or_the_systems_is_refused_at_its_field(name: str) -> None:
    assert found(users=(MO, replace(LIN, name=name))) == ["logins.users[1].name"]
    assert found(groups=(LoginGroup(name, 20002),)) == ["logins.groups[0].name"]


def test_users_and_groups_share_names_and_numbers() -> None:
    assert found(users=(MO, replace(LIN, name="mo"))) == ["logins.users[1].name"]
    assert found(groups=(LoginGroup("mo", 20002),)) == ["logins.groups[0].name"]
    assert found(users=(MO, replace(LIN, uid=20000))) == ["logins.users[1].uid"]
    assert found(groups=(LoginGroup("lab", 20001),)) == ["logins.groups[0].gid"]


@pytest.mark.parametrize("number", [0, 999, 60_000, -1])
def test_numbers_are_those_of_people(number: int) -> None:
    assert found(users=(replace(MO, uid=number),)) == ["logins.users[0].uid"]


def test_homes_are_on_a_volume_that_is_mounted_and_can_be_written_to() -> None:
    assert found(homes="/shared") == ["logins.homes"]
    assert found(CORPUS, homes="/data/corpus") == ["logins.homes"]
    assert found(replace(SHARED, path="/home")) == ["logins.homes"]
    assert found(replace(SHARED, path="/home"), homes="/home") == []


def test_groups_are_the_clusters_own() -> None:
    assert found(users=(replace(MO, groups=("lab",)),)) == ["logins.users[0].groups"]


def test_keys_are_keys() -> None:
    assert found(users=(replace(MO, keys=(ED25519, "ssh-ed25519 AAAA")),)) == ["logins.users[0].keys[1]"]


def test_who_leaves_is_gone_and_what_becomes_of_it_is_said() -> None:
    assert found(users=(MO,), leavers=(Leaver("lin", 20001, "cancel", "archive"),)) == []
    assert found(leavers=(Leaver("lin", 20001),)) == ["logins.leavers[0].name"]
    assert found(users=(MO,), leavers=(Leaver("lin", 20001, "kill", "burn"),)) == [
        "logins.leavers[0].jobs",
        "logins.leavers[0].home",
    ]


def test_a_spec_is_asked_for_its_login_users_and_their_text() -> None:
    spec = tiny_spec().with_logins(Logins(on=True, users=(replace(MO, name="m\x1bo"),)))
    assert {problem.path for problem in validate(spec)} == {"logins.users[0].name"}


def test_a_spec_from_before_there_were_login_users_has_none() -> None:
    old = to_json(tiny_spec())
    del old["logins"]
    assert from_json(old) == tiny_spec()
    assert not from_json(old).logins.on


def test_a_spec_with_login_users_comes_back_as_it_was() -> None:
    logins = Logins(True, "/shared", "research", (replace(MO, keys=(ED25519,)),), (LoginGroup("lab", 20002),))
    spec = tiny_spec(mounts=(SHARED,)).with_logins(replace(logins, leavers=(Leaver("lin", 20001, "cancel"),)))
    assert from_json(to_json(spec)) == spec


@pytest.mark.parametrize(
    ("homes", "home"),
    [
        ("", "/home/mo"),
        ("/home", "/home/mo"),
        ("/shared", "/shared/home/mo"),
        ("/data/home", "/data/home/mo"),
    ],
)
def test_a_home_is_in_the_homes_directory(homes: str, home: str) -> None:
    assert Logins(homes=homes).home_of("mo") == home


@pytest.mark.parametrize(
    ("account", "name"),
    [
        ("mo", "mo"),
        ("Mo.Salah", "mo-salah"),
        ("7of9", "u7of9"),
        ("ada@example.org", "ada"),
        ("root", "root-u"),
        ("日本", "user"),
    ],
)
def test_an_accounts_name_becomes_one_that_a_login_may_have(account: str, name: str) -> None:
    assert proposed_name(account) == name
    assert name_problem(name) is None
