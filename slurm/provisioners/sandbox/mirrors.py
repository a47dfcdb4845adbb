"""Which Debian mirror this machine already uses, read from its own apt sources.

Pure text reading (sources.list(5), both forms); no address is known here beforehand. `tree` is the only caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_SUITES = "buster bullseye bookworm trixie forky sid unstable testing stable oldstable oldoldstable"
SUITES = frozenset(_SUITES.split())
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True)
class Source:
    """One archive as apt was told of it; `signed_by` is empty where apt's trusted keys are used."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str = ""


def debian_mirrors(apt_dir: Path = Path("/etc/apt")) -> tuple[str, ...]:
    """Addresses that may hold Debian's main archive, the likeliest first; empty on a machine of another kind."""
    found = [source.uri.rstrip("/") for source in read_sources(apt_dir) if _may_be_debian(source)]
    found.sort(key=lambda uri: not _is_named_debian(uri))
    return tuple(dict.fromkeys(found))


def read_sources(apt_dir: Path) -> list[Source]:
    """Every enabled `deb` source below an apt configuration directory."""
    sources: list[Source] = []
    for path in [apt_dir / "sources.list", *sorted((apt_dir / "sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        sources += parse_stanzas(text) if path.suffix == ".sources" else parse_lines(text)
    return sources


def parse_stanzas(text: str) -> list[Source]:
    """The deb822 form (`.sources`)."""
    sources: list[Source] = []
    for fields in _stanzas(text.splitlines()):
        disabled = fields.get("enabled", "yes").lower() in ("no", "false", "0")
        if disabled or "deb" not in fields.get("types", "").split():
            continue
        suites, components = (
            tuple(fields.get("suites", "").split()),
            tuple(fields.get("components", "").split()),
        )
        for uri in fields.get("uris", "").split():
            sources.append(Source(uri, suites, components, fields.get("signed-by", "").strip()))
    return sources


def _stanzas(lines: Iterable[str]) -> list[dict[str, str]]:
    stanzas: list[dict[str, str]] = [{}]
    key = ""
    for line in lines:
        if line.startswith("#"):
            continue
        if not line.strip():
            stanzas.append({})
        elif line[0].isspace() and key:
            stanzas[-1][key] = stanzas[-1].get(key, "") + "\n" + line.strip()
        elif ":" in line:
            name, value = line.split(":", 1)
            key = name.strip().lower()
            stanzas[-1][key] = value.strip()
    return [stanza for stanza in stanzas if stanza]


def parse_lines(text: str) -> list[Source]:
    """The one-line form (`deb [options] uri suite component...`)."""
    sources: list[Source] = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].replace("[", " [ ").replace("]", " ] ").split()
        if not words or words[0] != "deb":
            continue
        options: list[str] = []
        rest = words[1:]
        if rest and rest[0] == "[" and "]" in rest:
            end = rest.index("]")
            options, rest = rest[1:end], rest[end + 1 :]
        if len(rest) >= 2:
            signed_by = next((o.partition("=")[2] for o in options if o.lower().startswith("signed-by=")), "")
            sources.append(Source(rest[0], (rest[1],), tuple(rest[2:]), signed_by))
    return sources


def _may_be_debian(source: Source) -> bool:
    """Other archives use Debian's suite names too; the signature check of apt has the last word."""
    plain = any(suite in SUITES for suite in source.suites)
    fetchable = not source.uri.startswith(("cdrom:", "file:", "copy:"))
    return plain and fetchable and "main" in source.components


def _is_named_debian(uri: str) -> bool:
    return "debian" in urlsplit(uri).path.split("/")
