"""How people are told apart, by what an ordinary user has on this machine; and what is said where it is too little."""

from pathlib import Path

import pytest

from clusters.finding import State
from clusters.login_rules import MOST_NUMBER
from clusters.platform import RegionRef
from slurm.provisioners.sandbox import apart, platform, ranges
from slurm.provisioners.sandbox.apart import Lack, Way
from slurm.provisioners.sandbox.platform import SandboxPlatform
from slurm.provisioners.sandbox.ranges import NEEDED, outside, ranges_in, size_of, user_name

ENOUGH = f"{user_name()}:100000:65536\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with newuidmap and both files, each with enough."""
    for name in ("subuid", "subgid"):
        (tmp_path / name).write_text(ENOUGH)
        for module in (apart, ranges):
            monkeypatch.setattr(module, name.upper(), tmp_path / name)
    for name in ranges.PROGRAMS:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def lacking() -> Lack:
    found = apart.lack.__wrapped__()
    assert found is not None
    return found


def test_the_highest_number_of_a_login_user_has_to_fit() -> None:
    assert NEEDED == MOST_NUMBER


def test_ranges_are_found_by_name_and_number_and_add_up(files: Path) -> None:
    file = files / "subuid"
    file.write_text(
        f"else:5:70000\n{user_name()}:100000:40000\nnonsense\n{ranges.os.getuid()}:300000:30000\nx:y:z\n"
    )
    assert ranges_in(file) == [(100000, 40000), (300000, 30000)]
    assert size_of(file) == 70000
    assert (outside(0), outside(1), outside(40000), outside(40001)) == (
        ranges.os.getuid(),
        100000,
        139999,
        300000,
    )
    with pytest.raises(ValueError, match="no number for 70001"):
        outside(70001)


def test_no_file_is_no_range(tmp_path: Path) -> None:
    assert ranges_in(tmp_path / "nowhere") == []


@pytest.mark.parametrize("program", ranges.PROGRAMS)
def test_a_missing_program_is_named_with_its_package(files: Path, program: str) -> None:
    (files / program).unlink()
    assert program in lacking().why and "package uidmap" in lacking().hint


@pytest.mark.parametrize(("name", "option"), [("subuid", "--add-subuids"), ("subgid", "--add-subgids")])
def test_numbers_that_do_not_fit_are_told_with_the_command_that_gives_more(
    files: Path, name: str, option: str
) -> None:
    (files / name).write_text(f"{user_name()}:100000:{NEEDED - 1}\n")
    found = lacking()
    assert found.why == f"{files / name} gives {user_name()} 59,998 numbers, and login users need 59,999."
    assert f"usermod {option} 100000-165535 {user_name()}" in found.hint


def test_the_page_and_the_regions_findings_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "can_make_rooms", lambda: "")
    monkeypatch.setattr(platform, "way", lambda: Way.ONE)
    monkeypatch.setattr(platform, "lack", lambda: Lack("No ranges.", "Get some."))
    said = SandboxPlatform(RegionRef("here")).logins().caveat
    assert f"jobs run as {user_name()}" in said and said.endswith("No ranges. Get some.")
    finding = platform._people()
    assert (finding.state, finding.hint) == (State.WARN, "Get some.") and "No ranges." in finding.sentence
