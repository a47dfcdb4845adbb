"""The catalogue: complete against what each version of Slurm takes, and consistent in itself."""

import re
from pathlib import Path

import pytest

from slurm.conf import ENTITY_KINDS
from slurm.parameters import VERSIONS, Cost, Kind, Owner, all_parameters, find, for_version, nearest
from slurm.parameters.model import parse_words

DATA = Path(__file__).parents[1] / "data" / "slurm"
RECORDED = ("22.05", "24.11", "26.05")
# What the parser still reads, only to refuse or ignore it: the last version in which it did something.
GONE = {
    "accountingstorageloc": "", "accountingstorejobcomment": "", "fastschedule": "",
    "sallocdefaultcommand": "", "launchtype": "22.05", "routeplugin": "23.02",
}  # fmt: skip
# Of `scontrol show config`: facts of the running controller and of MPI plugins (mpi.conf), not keys of slurm.conf.
NOT_KEYS = re.compile(
    r"BOOT_TIME|HASH_VAL|NEXT_JOB_ID|SLURM_CONF|SLURM_VERSION|MULTIPLE_SLURMD|JobDefaults|PMIx\w+"
)
KINDS = {
    "STRING": {
        Kind.INT,
        Kind.CHOICE,
        Kind.CHOICES,
        Kind.OPTIONS,
        Kind.DURATION,
        Kind.TEXT,
        Kind.PATH,
        Kind.HOSTS,
        Kind.LIST,
    },
    "UINT16": {Kind.INT},
    "UINT32": {Kind.INT},
    "UINT64": {Kind.SIZE},
    "BOOLEAN": {Kind.BOOL},
    "ARRAY": {Kind.PATH, Kind.HOSTS, Kind.TEXT},
}


def _keys(version: str) -> list[tuple[str | None, str, str]]:
    rows = (line.split() for line in (DATA / version / "keys.txt").read_text().splitlines())
    return [(row[0] if len(row) == 3 else None, row[-2], row[-1]) for row in rows]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_catalogue_knows_exactly_the_keys_that_the_version_takes(version: str) -> None:
    taken: dict[str | None, set[str]] = {None: set(), **{kind: set() for kind in ENTITY_KINDS}}
    for line, name, kind in _keys(version):
        if name in ENTITY_KINDS and line is None:
            taken[name].add(name.lower())
        elif kind != "DEFUNCT" and (line or version <= GONE.get(name.lower(), version)):
            taken[line].add(name.lower())
    known = {line: {one.name.lower() for one in for_version(version, line)} for line in taken}
    assert known == taken


@pytest.mark.parametrize("version", VERSIONS)
def test_every_key_of_the_parser_has_a_row_of_a_fitting_kind(version: str) -> None:
    for line, name, kind in _keys(version):
        found = find(name, name if name in ENTITY_KINDS and line is None else line)
        assert found is not None, (line, name)
        assert kind == "DEFUNCT" or found.kind in KINDS[kind], (name, kind, found.kind)


@pytest.mark.parametrize("version", RECORDED)
def test_every_key_that_a_running_controller_shows_is_known(version: str) -> None:
    shown = re.findall(r"(?m)^(\w+)(?:\[0\])? *= ", (DATA / version / "scontrol_show_config.txt").read_text())
    assert len(shown) > 150
    unknown = [name for name in shown if not NOT_KEYS.fullmatch(name) and not find(name)]
    assert unknown == []


@pytest.mark.parametrize("version", RECORDED)
def test_defaults_are_those_that_a_running_controller_shows(version: str) -> None:
    written = (DATA / version / "slurm.conf").read_text().lower()
    wrong = []
    text = (DATA / version / "scontrol_show_config.txt").read_text()
    for name, value in re.findall(r"(?m)^(\w+) *= (\d+)(?: (?:sec|min|usec|percent|nodes/min))?$", text):
        key = find(name)
        # 26.05 shows 0 for a HealthCheckTimeout that is not set and takes 60.
        if name == "HealthCheckTimeout":
            continue
        if key and f"\n{name.lower()}=" not in written and key.default_in(version) not in ("", value):
            wrong.append((name, value, key.default_in(version)))
    assert wrong == []


def test_keys_are_found_in_any_case_and_by_kind_of_line() -> None:
    maximum, state = find("maxtime", "PartitionName"), find("STATE", "NodeName")
    assert maximum is not None and maximum.name == "MaxTime" and maximum.kind is Kind.DURATION
    assert state is not None and state.owner is Owner.NODE_GROUP
    assert find("MaxTime") is None


@pytest.mark.parametrize(
    "typed, meant",
    [
        ("SlurmctldTimout", "SlurmctldTimeout"),
        ("killwiat", "KillWait"),
        ("PriorityWeigthAge", "PriorityWeightAge"),
        ("FooBar", None),
    ],
)
def test_a_misspelt_key_leads_to_the_nearest(typed: str, meant: str | None) -> None:
    assert nearest(typed) == meant


def test_the_nearest_key_is_one_of_the_asked_version() -> None:
    assert nearest("PreemptParameter", None, "24.11") == "PreemptParameters"
    assert nearest("PreemptParameter", None, "22.05") != "PreemptParameters"
    assert nearest("MaxTme", "PartitionName") == "MaxTime"


def test_no_key_has_two_rows() -> None:
    names = [(one.line, one.name.lower()) for one in all_parameters()]
    assert len(names) == len(set(names)) > 330


@pytest.mark.parametrize("parameter", all_parameters(), ids=lambda one: f"{one.line or ''}.{one.name}")
def test_every_row_says_what_it_is_in_a_sentence(parameter) -> None:  # type: ignore[no-untyped-def]
    assert 10 < len(parameter.help) <= 140 or parameter.help in ("Why.",)
    assert parameter.help.endswith(".")
    assert parameter.theme
    assert bool(parameter.reason) == (parameter.owner is not Owner.USER)
    if parameter.kind in (Kind.CHOICE, Kind.CHOICES):
        assert parameter.words or parameter.is_open


@pytest.mark.parametrize("parameter", all_parameters(), ids=lambda one: f"{one.line or ''}.{one.name}")
def test_versions_and_references_of_every_row_exist(parameter) -> None:  # type: ignore[no-untyped-def]
    assert parameter.since is None or parameter.since in VERSIONS
    assert parameter.restart in ("", "always", *VERSIONS)
    for word in parameter.words:
        assert {word.since, word.until} <= {None, *VERSIONS}
    for need in parameter.needs:
        assert find(need.split("=")[0]) is not None
    assert not parameter.instead or find(parameter.instead, parameter.line) is not None


def test_a_restart_is_needed_where_the_manual_says_so() -> None:
    select, auth, wait = find("SelectType"), find("AuthType"), find("KillWait")
    assert select and auth and wait
    assert [select.cost_in(version) for version in ("22.05", "23.02", "23.11", "26.05.5")] == [
        Cost.RESTART, Cost.RESTART, Cost.RECONFIGURE, Cost.RECONFIGURE,
    ]  # fmt: skip
    assert auth.cost_in("26.05") is Cost.RESTART
    assert wait.cost_in("22.05") is Cost.RECONFIGURE


def test_what_the_platform_writes_is_locked() -> None:
    names = (
        "ClusterName SlurmctldHost SlurmctldPort SlurmdPort SlurmUser SlurmdUser AuthType AuthInfo "
        "AuthAltTypes  AuthAltParameters CredType StateSaveLocation SlurmdSpoolDir SlurmctldPidFile "
        "SlurmdPidFile SlurmctldLogFile  SlurmdLogFile PluginDir AccountingStorageType "
        "AccountingStorageHost AccountingStoragePort AccountingStoragePass  AccountingStorageUser "
        "AccountingStorageExternalHost SlurmdParameters ProctrackType TaskPlugin JobAcctGatherType "
        "MpiDefault GresTypes SelectType SelectTypeParameters Prolog HealthCheckProgram RebootProgram "
        "PlugStackConfig"
    )
    for name in names.split():
        found = find(name)
        assert found is not None and found.owner is Owner.OPERATOR, name


def test_the_notation_of_words_says_value_and_versions() -> None:
    plain, ranged, chosen, maybe = parse_words(
        "defer@..22.05 bf_interval=-1..10800 prio=min|max@23.02..24.11 whole?=#"
    )
    assert (plain.name, plain.form, plain.until) == ("defer", "", "22.05")
    assert (ranged.form, ranged.low, ranged.high) == ("#", -1, 10800)
    assert (chosen.form, chosen.since, chosen.until) == ("min|max", "23.02", "24.11")
    assert maybe.optional and maybe.shown == "whole" and ranged.shown == "bf_interval="
