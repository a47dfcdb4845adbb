"""The file browser in a real browser: as a page, and beside the terminal."""

import hashlib
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from console.models import Event
from tests.slurm.terminal.conftest import ROOT, Console
from tests.slurm.terminal.cutting import BreakingLine
from tests.slurm.terminal.sshd import Sshd
from tests.slurm.terminal.tab import Tab

TabOf = Callable[..., Tab]
HOME = "/mnt/home"
PAGE = "/t/research/c/demo/files/"
LARGE = 50 * 2**20
# Lets go files over an element, as a hand would: {selector, files: [[name, text]...]}.
DROP = """({selector, files}) => { const data = new DataTransfer();
for (const [name, text] of files) data.items.add(new File([text], name));
const at = document.querySelector(selector);
for (const type of ["dragenter", "dragover", "drop"]) {
  at.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
}
}"""

AXE = """axe.run('.live-body', {preload: false}).then(
r => r.violations.map(v => [v.impact, v.id, v.nodes[0].html]))"""


def names(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".files-table .files-name span").all_text_contents()]


def uploaded(page: Page, name: str, within_s: float = 90) -> None:
    line = page.locator(".upload", has_text=name)
    expect(line).to_have_attribute("data-state", "done", timeout=within_s * 1000)


@pytest.fixture
def room(sshd: Sshd, request: pytest.FixtureRequest) -> Path:
    """A folder in the home, empty; its page is `PAGE?path=HOME/<name>`."""
    folder = sshd.home / re.sub(r"\W", "-", request.node.name)
    folder.mkdir()
    return folder


def at(room: Path) -> str:
    return f"{PAGE}?path={HOME}/{room.name}"


def test_folders_are_walked_and_a_hostile_file_is_read_as_text(tab_of: TabOf, room: Path) -> None:
    (room / "<img src=x onerror=alert(1)>").mkdir()
    (room / "<img src=x onerror=alert(1)>/run.sh").write_text("<script>alert(2)</script>\n\x1b[2Jhere")
    (room / ".secret").write_text("x")
    page = tab_of("mo", at(room)).page
    page.on("dialog", lambda _: pytest.fail("a script ran"))
    assert names(page)[1:] == ["<img src=x onerror=alert(1)>"]
    page.get_by_role("link", name="Show 1 hidden").click()
    expect(page.get_by_text(".secret")).to_be_visible()
    page.get_by_role("link", name="<img src=x onerror=alert(1)>", exact=True).click()
    expect(page.get_by_role("link", name="run.sh", exact=True)).to_be_visible()
    assert "%3Cimg" in page.url
    page.reload()
    page.get_by_role("link", name="run.sh", exact=True).click()
    expect(page.locator("dialog pre")).to_have_text("<script>alert(2)</script>\n�[2Jhere")


def test_new_folder_rename_and_deletion_by_keyboard(tab_of: TabOf, room: Path) -> None:
    (room / "draft").write_text("x")
    tab = tab_of("mo", at(room))
    page = tab.page
    page.get_by_role("link", name="New folder").press("Enter")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.type("a/b")
    page.keyboard.press("Enter")
    expect(page.locator("dialog .problem")).to_contain_text("slash")
    page.locator("dialog input[name=name]").fill("results")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="results", exact=True)).to_be_visible()
    page.get_by_role("link", name="Rename draft").press("Enter")
    page.locator("dialog input[name=name]").fill("final")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="final", exact=True)).to_be_visible()
    assert (room / "results").is_dir() and (room / "final").read_text() == "x"
    (room / "results/inner").write_text("y")
    page.get_by_role("link", name="Delete results").press("Enter")
    page.get_by_role("button", name="Delete").click()
    expect(page.locator("dialog [role=alert]")).to_contain_text("not empty")
    page.get_by_label("With everything in it").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("link", name="results", exact=True)).to_have_count(0)
    tab.complaints.clear()  # of what was refused
    assert [each.name for each in room.iterdir()] == ["final"]


def test_upload_of_50_mb_goes_on_after_a_cut_in_the_middle(
    tab_of: TabOf, room: Path, console: Console, tmp_path: Path
) -> None:
    source = tmp_path / "model é.bin"
    source.write_bytes(os.urandom(LARGE))
    tab = tab_of("mo", at(room))
    page = tab.page
    page.locator("[data-files-chosen]").set_input_files(source)
    bar = page.locator(".upload progress")
    while float(bar.get_attribute("value") or 0) < 0.2:
        page.wait_for_timeout(20)
    console.kill("web", signal.SIGKILL)
    expect(page.locator(".upload")).to_have_attribute("data-state", "waiting", timeout=20_000)
    [part] = room.glob(".quarterdeck-*.part")
    assert 0 < part.stat().st_size < LARGE
    console.start("web")
    uploaded(page, "model é.bin")
    assert (room / "model é.bin").read_bytes() == source.read_bytes()
    assert [each.name for each in room.iterdir()] == ["model é.bin"]
    expect(page.get_by_role("link", name="model é.bin", exact=True)).to_be_visible()
    tab.complaints.clear()  # of answers that did not come
    assert Event.objects.get(verb="file.uploaded").detail["bytes"] == LARGE


def test_upload_goes_on_after_the_page_was_loaded_anew(tab_of: TabOf, room: Path, tmp_path: Path) -> None:
    source = tmp_path / "again.bin"
    source.write_bytes(os.urandom(LARGE))
    page = tab_of("mo", at(room)).page
    page.on("dialog", lambda asked: asked.accept())  # that an upload is under way
    page.locator("[data-files-chosen]").set_input_files(source)
    while float(page.locator(".upload progress").get_attribute("value") or 0) < 0.2:
        page.wait_for_timeout(20)
    page.reload()
    [part] = room.glob(".quarterdeck-*.part")
    have = part.stat().st_size
    asked: list[int] = []
    page.on("request", lambda request: asked.append(_offset(request.url)))
    page.locator("[data-files-chosen]").set_input_files(source)
    uploaded(page, "again.bin")
    assert 0 < have <= min(offset for offset in asked if offset >= 0)
    assert (
        hashlib.sha256((room / "again.bin").read_bytes()).digest()
        == hashlib.sha256(source.read_bytes()).digest()
    )


def _offset(url: str) -> int:
    found = re.search(r"[&?]offset=(\d+)", url)
    return int(found[1]) if found else -1


def test_download_of_50_mb_goes_on_after_a_cut_in_the_middle(
    tab_of: TabOf, room: Path, console: Console, tmp_path: Path
) -> None:
    data = os.urandom(LARGE)
    (room / "data.bin").write_bytes(data)
    with BreakingLine(console.port, LARGE // 2) as line:
        page = tab_of("mo", at(room), port=line.port).page
        with page.expect_download() as started:
            page.get_by_role("link", name="Download data.bin").click()
        started.value.save_as(tmp_path / "got.bin")
    assert line.cuts == 1
    assert (tmp_path / "got.bin").read_bytes() == data
    assert Event.objects.filter(verb="file.download").count() == 2


def test_existing_file_is_replaced_only_when_wanted(tab_of: TabOf, room: Path) -> None:
    (room / "a.txt").write_text("old")
    (room / "b.txt").write_text("old")
    tab = tab_of("mo", at(room))
    page = tab.page
    files = [["a.txt", "new"], ["b.txt", "new"], ["c.txt", ""]]
    page.evaluate(DROP, {"selector": ".files-page", "files": files})
    expect(page.locator(".upload[data-state=asks]")).to_have_count(2)
    page.get_by_role("button", name="Replace a.txt").click()
    uploaded(page, "a.txt")
    uploaded(page, "c.txt")
    page.get_by_role("button", name="Skip b.txt").click()
    expect(page.locator(".upload")).to_have_count(2)
    tab.complaints.clear()  # of what was there
    assert [(room / name).read_text() for name in ("a.txt", "b.txt", "c.txt")] == ["new", "old", ""]


def test_file_dropped_on_the_terminal_goes_where_the_shell_is(tab_of: TabOf, room: Path) -> None:
    tab = tab_of("mo")
    tab.expect_state("Connected")
    tab.type(f"cd {HOME}/{room.name}; printf '\\033]7;file://%s%s\\033\\\\' host $PWD; echo mo''ved")
    tab.wait_for("^moved$")
    tab.page.evaluate(DROP, {"selector": ".terminal-screen", "files": [["dropped.txt", "here"]]})
    uploaded(tab.page, "dropped.txt")
    assert (room / "dropped.txt").read_text() == "here"
    panel = tab.page.locator("#terminal-files")
    expect(panel.get_by_role("link", name="dropped.txt", exact=True)).to_be_visible()
    tab.type("cat dropped.txt; echo")
    tab.wait_for("^here$")


def test_without_a_word_from_the_shell_a_drop_goes_home(tab_of: TabOf, sshd: Sshd) -> None:
    tab = tab_of("mo")
    tab.expect_state("Connected")
    tab.page.evaluate(DROP, {"selector": ".terminal-screen", "files": [["at-home.txt", "here"]]})
    uploaded(tab.page, "at-home.txt")
    assert (sshd.home / "at-home.txt").read_text() == "here"


def test_panel_opens_with_a_key_and_walks_beside_the_shell(tab_of: TabOf, room: Path) -> None:
    (room / "inside").mkdir()
    tab = tab_of("mo")
    tab.expect_state("Connected")
    before = tab.size
    tab.page.keyboard.press("Control+Shift+Y")
    panel = tab.page.locator("#terminal-files")
    panel.get_by_role("link", name=room.name, exact=True).press("Enter")
    expect(panel.get_by_role("link", name="inside", exact=True)).to_be_visible()
    assert tab.page.url.endswith("/terminal/")
    assert int(tab.size_after(before).split()[1]) < int(before.split()[1])
    expect(panel.get_by_role("link", name=f"Up to {HOME}")).to_be_focused()
    tab.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    tab.type("echo still-$((40+2))")
    tab.wait_for("^still-42$")


def test_sum_of_the_page_is_the_sum_of_everybody(tab_of: TabOf) -> None:
    page = tab_of("mo", PAGE).page
    sum_of = """async ({url, data, cut}) => {
      const {Sha256} = await import(url);
      const sum = new Sha256();
      sum.add(Uint8Array.from(data.slice(0, cut)));
      sum.add(Uint8Array.from(data.slice(cut)));
      return sum.hex();
    }"""
    for length in (0, 1, 55, 56, 63, 64, 65, 119, 120, 1000):
        data = bytes(n % 251 for n in range(length))
        asked = {"url": "/static/js/files/sha256.js", "data": list(data), "cut": length // 3}
        assert page.evaluate(sum_of, asked) == hashlib.sha256(data).hexdigest(), length


@pytest.mark.parametrize("wide", [True, False])
def test_axe_finds_nothing_serious(tab_of: TabOf, room: Path, wide: bool) -> None:
    (room / "folder").mkdir()
    (room / "file.txt").write_text("x")
    for path in (at(room), "/t/research/c/demo/terminal/"):
        tab = tab_of("mo", path, wide=wide)
        page = tab.page
        if "terminal" in path:
            tab.expect_state("Connected")
            page.get_by_role("button", name="Files of the login node").click()
        for _ in range(2):
            page.evaluate(DROP, {"selector": "[data-drop]", "files": [["up.txt", "x"]]})
            expect(page.locator(".upload").last).to_have_attribute(
                "data-state", re.compile("done|asks"), timeout=20_000
            )
        page.evaluate((ROOT / "static/vendor/axe/axe.min.js").read_text())
        found = page.evaluate(AXE)
        tab.complaints.clear()  # of axe itself, which styles elements
        assert [each for each in found if each[0] in ("serious", "critical")] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
