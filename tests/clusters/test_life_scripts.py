"""What may be a life script, how its file is called, and how a change of one is told."""

from dataclasses import replace

import pytest

from clusters.diff import diff, sentence
from clusters.life_scripts import (
    ABOUT,
    FILE_NAME,
    MOST_BYTES,
    Hook,
    as_typed,
    file_of,
    files_of,
    script_problems,
    version_in,
    version_of,
)
from clusters.spec import LifeScripts, from_json, to_json
from clusters.validate import validate
from tests.cast import tiny_spec

GOOD = "#!/bin/bash\necho $SLURM_JOB_ID\n"


def problems(text: str) -> list[tuple[str, int | None]]:
    return [(found.message, found.line) for found in script_problems(LifeScripts(worker_prolog=text))]


@pytest.mark.parametrize(
    "first", ["#!/bin/sh", "#!/usr/bin/env python3", "#! /bin/bash -e", "#!/usr/bin/python3\t-u"]
)
def test_what_names_its_program_may_be_a_script(first: str) -> None:
    assert problems(f"{first}\nexit 0\n") == []


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("echo hello\n", "The first line must name", 1),
        ("#!bash\n", "The first line must name", 1),
        ("#!\n/bin/bash\n", "The first line must name", 1),
        ("\n#!/bin/bash\n", "The first line must name", 1),
        ("#!/bin/bash " + "x" * 200 + "\n", "The first line may have 127 bytes", 1),
        ("#!/bin/bash\nexit 0", "The last line has no end", 2),
        ("#!/bin/bash\n" + "#" * MOST_BYTES + "\n", "At most 64 KiB, not 65", None),
        ("#!/bin/bash\n\ud800\n", "This is no UTF-8 text", None),
    ],
)
def test_what_may_not_be_one_is_told_with_its_line(text: str, message: str, line: int | None) -> None:
    found = problems(text)
    assert [at for said, at in found if said.startswith(message)] == [line], found


@pytest.mark.parametrize("character", ["\r", "\x00", "\x1b", "\u2028", "\x85"])
def test_control_characters_are_refused_at_the_script(character: str) -> None:
    spec = tiny_spec(scripts=LifeScripts(worker_prolog=f"#!/bin/sh\necho {character}\n"))
    assert [problem.path for problem in validate(spec)] == ["scripts.worker_prolog"]


def test_line_feeds_and_tabs_are_no_control_characters_here() -> None:
    assert validate(tiny_spec(scripts=LifeScripts(login_init="#!/bin/sh\n\techo\n"))) == ()


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("a\r\nb\r\n", "a\nb\n"), ("a", "a\n"), ("a\n\n\n", "a\n"), (" \n", ""), ("", ""), ("  a\n", "  a\n")],
)
def test_text_is_taken_as_a_browser_sends_it(typed: str, kept: str) -> None:
    assert as_typed(typed) == kept


def test_a_file_is_named_by_its_content() -> None:
    one, other = LifeScripts(worker_prolog=GOOD), LifeScripts(worker_prolog=GOOD + "exit 0\n")
    assert (
        file_of(one, Hook.WORKER_PROLOG)
        == f"prolog-{version_of(GOOD)}.sh"
        != file_of(other, Hook.WORKER_PROLOG)
    )
    assert file_of(one, Hook.WORKER_EPILOG) == "" and version_of("") == ""


def test_every_hook_has_a_file_of_its_own() -> None:
    all_alike = LifeScripts(**{hook.value: GOOD for hook in Hook})
    names = files_of(all_alike)
    assert len(names) == len(Hook) == len({about.stem for about in ABOUT.values()})
    assert all(FILE_NAME.fullmatch(name) for name in names)
    assert {version_in(f"/etc/slurm/{name}") for name in names} == {version_of(GOOD)}


@pytest.mark.parametrize(
    "path", ["", "/etc/slurm/slurm.conf", "/x/prolog-0123.sh", "/x/other-0123456789ab.sh"]
)
def test_what_is_no_script_of_ours_has_no_version(path: str) -> None:
    assert version_in(path) == ""


def test_a_spec_that_was_stored_before_there_were_scripts_has_none() -> None:
    stored = to_json(tiny_spec())
    del stored["scripts"]
    assert from_json(stored) == tiny_spec()
    assert from_json(to_json(tiny_spec(scripts=LifeScripts(GOOD)))).scripts.worker_init == GOOD


def test_a_change_is_told_line_by_line() -> None:
    before = tiny_spec(scripts=LifeScripts(worker_prolog=GOOD))
    after = replace(before, scripts=LifeScripts(worker_prolog=GOOD + "exit 0\n", login_init=GOOD))
    changes = diff(before, after)
    assert [(one.op, one.path) for one in changes] == [
        ("add", "scripts.login_init:1"),
        ("add", "scripts.login_init:2"),
        ("add", "scripts.worker_prolog:3"),
    ]
    assert sentence(changes) == "Login init: 2 lines; Worker prolog: 1 line"
    assert diff(after, after) == ()
