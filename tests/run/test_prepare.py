"""The preparation of a fresh checkout, as far as it needs no network: what is made anew, kept, and said."""

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from console.run.layout import Layout
from console.run.records import RunLock, running
from console.run.steps import CannotRun, Steps
from tests.run.console import ROOT

sys.path.insert(0, str(ROOT / "deploy"))  # its modules run as scripts, before any package is installed

import front_end  # noqa: E402
import python_env  # noqa: E402
import tools  # noqa: E402
from cache import Cache, digest  # noqa: E402

OLD_PYTHON = """
import runpy, sys
sys.version_info = (3, 9, 18, "final", 0)
sys.argv = ["prepare.py", "run"]
runpy.run_path("deploy/prepare.py", run_name="__main__")
"""


def test_an_old_python_is_told_what_to_do_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OLD_PYTHON], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"quarterdeck: Python 3.11 or newer is needed and {sys.executable} is 3.9: "
        "install a newer one and name it, for example make run PYTHON=python3.12\n"
    )


def test_the_preparation_needs_the_standard_library_alone() -> None:
    """-S leaves out site-packages, -E the environment's paths."""
    program = "import sys; sys.path[:0] = ['.', 'deploy']; import goals"
    subprocess.run([sys.executable, "-S", "-E", "-c", program], cwd=ROOT, check=True)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment that was made for the lock `x`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    stamp = {"python": python_env._python_tag(), "locks": {"x": "1"}}
    (tmp_path / python_env.STAMP).write_text(json.dumps(stamp))
    return tmp_path


def test_an_environment_is_kept_while_lock_and_python_stay(venv: Path) -> None:
    assert python_env._is_current(venv, {"x": "1"})
    assert not python_env._is_current(venv, {"x": "2"})
    assert not python_env._is_current(venv, {"x": "1", "dev": "1"})


def test_an_environment_whose_python_was_upgraded_away_is_made_anew(venv: Path) -> None:
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to("/usr/bin/python3.2")
    assert not python_env._is_current(venv, {"x": "1"})


def test_an_interrupted_environment_is_made_anew(venv: Path) -> None:
    (venv / python_env.STAMP).write_text('{"python": ')
    assert not python_env._is_current(venv, {"x": "1"})


def test_the_cache_makes_a_content_once_however_many_ask(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []

    def make(directory: Path) -> None:
        made.append(directory)
        both.wait(5)
        (directory / "file").write_text("content")

    both = threading.Barrier(2)
    askers = [threading.Thread(target=cache.fetch, args=("kind", "key", make)) for _ in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert len(made) == 2  # both were at it, and one result stands
    assert [path.name for path in (tmp_path / "kind").iterdir()] == ["key"]
    assert cache.fetch("kind", "key", make) == (tmp_path / "kind" / "key", True)


def test_a_failed_making_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    def make(directory: Path) -> None:
        (directory / "half").write_text("")
        raise CannotRun("no network")

    with pytest.raises(CannotRun):
        Cache(tmp_path).fetch("kind", "key", make)
    assert list((tmp_path / "kind").iterdir()) == []


def test_a_key_tells_where_a_part_ends() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc")


def test_a_style_sheet_brings_its_fonts_and_no_pointer_to_a_map(tmp_path: Path) -> None:
    source = tmp_path / "package"
    (source / "fonts").mkdir(parents=True)
    (source / "fonts" / "a.woff2").write_bytes(b"font")
    sheet = "@font-face{src:url(\"./fonts/a.woff2?v1\")}b{c:url('data:image/x')}\n/*# sourceMappingURL=a.css.map */\n"
    (source / "a.css").write_text(sheet)
    front_end._copy(source / "a.css", tmp_path / "out")
    assert (tmp_path / "out" / "fonts" / "a.woff2").read_bytes() == b"font"
    assert "sourceMappingURL" not in (tmp_path / "out" / "a.css").read_text()


def test_the_front_end_files_are_all_there_with_their_licences() -> None:
    vendor = ROOT / "static" / "vendor"
    for directory, (_, names) in front_end.FILES.items():
        for name in names:
            assert (vendor / directory / Path(name).name).stat().st_size > 0
    versions = dict(line.split(" ")[:2] for line in (vendor / "VERSIONS").read_text().splitlines())
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert versions == {
        name: locked[f"node_modules/{name}"]["version"] for name, _ in front_end.FILES.values()
    }


def test_a_failed_tool_is_quoted_in_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = "print('fetching'); print('ERROR: no route to host'); print('done'); raise SystemExit(1)"
    assert not tools.run([sys.executable, "-c", program], log)
    assert tools.failed("downloading", log).line() == (
        "quarterdeck: downloading failed (ERROR: no route to host): "
        f"see {log}; a first run needs the package registries"
    )


def with_environment(root: Path) -> None:
    """A checkout with two locks, whose environment was made for the first."""
    (root / "run.lock").write_text("a==1\n")
    (root / "dev.lock").write_text("a==1\nb==1\n")
    env = root / ".venv"
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").symlink_to(sys.executable)
    locks = {"run.lock": digest((root / "run.lock").read_bytes())}
    (env / python_env.STAMP).write_text(json.dumps({"python": python_env._python_tag(), "locks": locks}))


def test_the_tools_of_the_tests_are_added_under_a_running_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_environment(tmp_path)
    done = []
    monkeypatch.setattr(python_env, "_make_anew", lambda *more: done.append("made anew"))
    monkeypatch.setattr(python_env, "_fill", lambda root, lock, *more: done.append(lock))
    python_env.ensure(tmp_path, ["run.lock", "dev.lock"], Cache(tmp_path), Steps(), tmp_path / "log")
    assert done == ["dev.lock"]


def test_an_environment_is_not_made_anew_under_a_running_console(tmp_path: Path) -> None:
    with_environment(tmp_path)
    (tmp_path / "run.lock").write_text("a==2\n")
    layout = Layout.of(tmp_path)
    layout.run.mkdir(parents=True)
    lock = RunLock(layout)
    lock.take(Steps())
    lock.write("running", "http://127.0.0.1:1")
    with pytest.raises(CannotRun, match="a console runs in this checkout"):
        python_env.ensure(tmp_path, ["run.lock"], Cache(tmp_path), Steps(), tmp_path / "log")
    assert (tmp_path / ".venv" / "bin" / "python").exists()
    lock.release()
    assert running(layout) is None
