"""The files of a real login node through the API: web process, worker and sshd."""

import contextlib
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import urlencode

import pytest

from console.models import Event, Membership, User
from console.roles import Role, Scope
from console.tokens import make_token
from slurm.files.acts import ASK_S, CHUNK
from tests.slurm.terminal.conftest import Console
from tests.slurm.terminal.sshd import Sshd

HOME = "/mnt/home"


@dataclass
class Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def said(self) -> dict[str, object]:
        return dict(json.loads(self.body))


@dataclass
class Script:
    """A script with a person's API token."""

    base: str
    token: str

    def ask(
        self,
        method: str,
        route: str,
        body: object = None,
        *,
        headers: dict[str, str] | None = None,
        **query: object,
    ) -> Answer:
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        request = urllib.request.Request(
            f"{self.base}/{route}?{urlencode(query)}" if query else f"{self.base}/{route}",
            data=data,
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": kind, **(headers or {})},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.headers, error.read())

    def send(
        self, path: str, data: bytes, *, mark: str = "", stop_at: int | None = None, replace: bool = False
    ) -> Answer:
        """Upload as the page does; `stop_at` breaks off there."""
        begun = self.ask(
            "POST", "files/uploads", {"size": len(data), "mark": mark, "replace": replace}, path=path
        )
        if begun.status != 201:
            return begun
        upload, at = begun.said["upload"], int(str(begun.said["offset"]))
        while at < len(data):
            end = min(at + CHUNK, stop_at or len(data))
            if at >= end:
                return begun
            put = self.ask("PUT", f"files/uploads/{upload}", data[at:end], path=path, offset=at)
            assert put.status == 200, put.body
            at = int(str(put.said["offset"]))
        digest = hashlib.sha256(data).hexdigest()
        finish = {"size": len(data), "sha256": digest, "replace": replace}
        return self.ask("POST", f"files/uploads/{upload}/finish", finish, path=path)


@pytest.fixture
def mo(console: Console) -> Script:
    return script(console, "mo")


def script(console: Console, name: str, scopes: frozenset[Scope] = frozenset(Scope)) -> Script:
    token = make_token(User.objects.get(username=name), "a script", scopes=scopes)
    return Script(f"{console.url}/api/v1/teams/research/clusters/demo", token)


def events(verb: str) -> list[tuple[str, str, str]]:
    return list(Event.objects.filter(verb=verb).order_by("pk").values_list("who", "target", "outcome"))


def test_folder_of_the_home_and_a_text_are_read(mo: Script, sshd: Sshd) -> None:
    (sshd.home / "notes.txt").write_text("first line\n\x1b[31mred\n")
    home = mo.ask("GET", "files").said
    assert home["path"] == HOME
    [entry] = [e for e in home["entries"] if e["name"] == "notes.txt"]  # type: ignore[union-attr, attr-defined]
    assert (entry["path"], entry["kind"], entry["size"]) == (f"{HOME}/notes.txt", "file", 20)
    assert mo.ask("GET", "files/text", path=entry["path"]).said == {
        "text": "first line\n�[31mred\n", "is_cut": False,
    }  # fmt: skip
    assert events("file.view") == [("mo", f"{HOME}/notes.txt", "done")]
    (sshd.home / "binary").write_bytes(b"\x7fELF\0\0")
    refused = mo.ask("GET", "files/text", path=f"{HOME}/binary")
    assert (refused.status, refused.said["title"]) == (415, "not-text")


def test_large_folder_says_that_it_is_cut(mo: Script, sshd: Sshd) -> None:
    many = sshd.home / "many"
    many.mkdir()
    for number in range(5100):
        (many / f"{'n' * 200}-{number}").touch()
    found = mo.ask("GET", "files", path=f"{HOME}/many").said
    assert (len(found["entries"]), found["is_cut"]) == (5000, True)  # type: ignore[arg-type]


def test_download_whole_in_ranges_and_after_a_change(mo: Script, sshd: Sshd) -> None:
    data = os.urandom(3 * CHUNK + 17)
    (sshd.home / "d a.bin").write_bytes(data)
    path = f"{HOME}/d a.bin"
    whole = mo.ask("GET", "files/content", path=path)
    assert whole.body == data and whole.headers["Content-Length"] == str(len(data))
    assert whole.headers["Content-Disposition"] == 'attachment; filename="d a.bin"'
    assert whole.headers["X-Content-Type-Options"] == "nosniff"
    rest = mo.ask(
        "GET",
        "files/content",
        path=path,
        headers={"Range": "bytes=1000000-", "If-Range": whole.headers["ETag"]},
    )
    assert (rest.status, rest.body) == (206, data[1_000_000:])
    assert rest.headers["Content-Range"] == f"bytes 1000000-{len(data) - 1}/{len(data)}"
    last = mo.ask("GET", "files/content", path=path, headers={"Range": "bytes=-7"})
    assert (last.status, last.body) == (206, data[-7:])
    past = mo.ask("GET", "files/content", path=path, headers={"Range": f"bytes={len(data)}-"})
    assert (past.status, past.headers["Content-Range"]) == (416, f"bytes */{len(data)}")
    os.utime(sshd.home / "d a.bin", (1, 1))
    changed = mo.ask(
        "GET", "files/content", path=path, headers={"Range": "bytes=9-", "If-Range": whole.headers["ETag"]}
    )
    assert (changed.status, changed.body) == (200, data)
    assert len(events("file.download")) == 4


def test_upload_that_was_cut_goes_on_and_is_checked(mo: Script, sshd: Sshd, console: Console) -> None:
    data = os.urandom(2 * CHUNK + 5)
    cut = mo.send(f"{HOME}/up.bin", data, mark="m1", stop_at=CHUNK)
    assert not (sshd.home / "up.bin").exists()
    console.kill("terminals")
    console.start("terminals")
    again = mo.ask("POST", "files/uploads", {"size": len(data), "mark": "m1"}, path=f"{HOME}/up.bin").said
    assert (again["offset"], again["upload"]) == (CHUNK, cut.said["upload"])
    other = mo.ask("POST", "files/uploads", {"size": len(data), "mark": "m2"}, path=f"{HOME}/up.bin").said
    assert other["offset"] == 0
    done = mo.send(f"{HOME}/up.bin", data, mark="m1")
    assert (done.status, done.said["size"]) == (200, len(data))
    assert (sshd.home / "up.bin").read_bytes() == data
    assert events("file.uploaded") == [("mo", f"{HOME}/up.bin", "done")]
    taken = mo.send(f"{HOME}/up.bin", b"x")
    assert (taken.status, taken.said["title"]) == (409, "already-there")
    mo.ask("DELETE", f"files/uploads/{other['upload']}", path=f"{HOME}/up.bin")
    assert not list(sshd.home.glob(".quarterdeck-*"))


def test_wrong_offset_and_wrong_sum_are_refused_at_once(mo: Script, sshd: Sshd) -> None:
    path = f"{HOME}/w"
    upload = mo.ask("POST", "files/uploads", {"size": 9}, path=path).said["upload"]
    early = mo.ask("PUT", f"files/uploads/{upload}", bytes(CHUNK), path=path, offset=5)
    assert (early.status, early.headers["Upload-Offset"]) == (409, "0")
    mo.ask("PUT", f"files/uploads/{upload}", b"123456789", path=path, offset=0)
    damaged = mo.ask("POST", f"files/uploads/{upload}/finish", {"size": 9, "sha256": "0" * 64}, path=path)
    assert (damaged.status, damaged.said["title"]) == (422, "damaged")
    assert not (sshd.home / "w").exists()
    assert mo.ask("PUT", f"files/uploads/{upload}", bytes(CHUNK + 1), path=path, offset=0).status == 413
    assert mo.ask("POST", "files/uploads", {"size": 2**40}, path=path).status == 413
    assert mo.ask("PUT", "files/uploads/..%2f..%2fx", b"", path=path, offset=0).status == 404


def test_rename_folder_and_deletion_are_done_and_written_down(mo: Script, sshd: Sshd) -> None:
    assert mo.ask("POST", "files/folders", path=f"{HOME}/made").status == 201
    (sshd.home / "made/f").write_bytes(b"x")
    renamed = mo.ask("POST", "files/rename", path=f"{HOME}/made/f", to=f"{HOME}/made/g")
    assert renamed.said["name"] == "g"
    assert mo.ask("DELETE", "files", path=f"{HOME}/made").said["title"] == "other-kind"
    assert mo.ask("DELETE", "files", path=f"{HOME}/made", recursive=1).said == {"count": 2}
    assert not (sshd.home / "made").exists()
    assert events("file.rename") == [("mo", f"{HOME}/made/f", "done")]
    assert events("file.delete") == [("mo", f"{HOME}/made", "refused"), ("mo", f"{HOME}/made", "done")]


def test_names_that_are_no_text_are_reached(mo: Script, sshd: Sshd) -> None:
    Path(os.fsdecode(bytes(sshd.home) + b"/\xfe\xff")).write_bytes(b"deep")
    [entry] = [e for e in mo.ask("GET", "files").said["entries"] if e["path"].endswith("FE%FF")]  # type: ignore[union-attr, attr-defined]
    assert entry["name"] == "��"
    assert mo.ask("GET", f"files/content?path={entry['path']}").body == b"deep"
    assert mo.ask("DELETE", f"files?path={entry['path']}").status == 200


def test_who_may_not_open_a_terminal_reaches_no_file(console: Console) -> None:
    assert script(console, "kim").ask("GET", "files").status == 403
    assert script(console, "dee").ask("GET", "files").status == 404
    assert script(console, "mo", frozenset({Scope.READ})).ask("GET", "files").status == 403


def test_download_of_a_removed_member_ends(mo: Script, sshd: Sshd) -> None:
    """The file is larger than what the buffers on the way hold, so that it is still under way."""
    size = 400 * 2**20
    with (sshd.home / "large").open("wb") as file:
        file.truncate(size)
    request = urllib.request.Request(
        f"{mo.base}/files/content?path={HOME}/large", headers={"Authorization": f"Bearer {mo.token}"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        got = len(answer.read(2**20))
        Membership.objects.filter(user__username="mo").update(role=Role.VIEWER)
        time.sleep(ASK_S + 0.5)
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            while data := answer.read(2**20):
                got += len(data)
    assert got < size


def test_without_a_worker_it_is_said(mo: Script, console: Console) -> None:
    console.kill("terminals")
    refused = mo.ask("GET", "files")
    assert refused.status == 503 and "terminal service" in str(refused.said["detail"])
