"""What ShellCheck says of a life script, where it is at hand."""

import pytest

from slurm.scripts.shellcheck import program_at_hand, shellcheck


@pytest.mark.skipif(
    program_at_hand() is None, reason="no shellcheck on this machine: its advice is not tried"
)
def test_shellcheck_advises_and_never_refuses() -> None:
    found = shellcheck("#!/bin/bash\nrm -rf $DIR/*\n", path="scripts.worker_prolog")
    assert found and all(not problem.blocking and problem.line == 2 for problem in found)
    assert any("SC2086" in problem.hint for problem in found)


@pytest.mark.parametrize("first", ["#!/usr/bin/env python3", "#!/usr/bin/perl"])
def test_other_languages_are_not_shown_to_it(first: str) -> None:
    assert shellcheck(f"{first}\nrm -rf $DIR\n", path="x") == ()
