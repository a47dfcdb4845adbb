"""Files that several processes read and write. Standard library only: the keeper runs it."""

import hashlib
from pathlib import Path


def digest(text: str) -> str:
    """What one daemons.json is told from another by."""
    return hashlib.sha256(text.encode()).hexdigest()


def replace_file(path: Path, text: str) -> None:
    """Readers see the old text or the new, never a part."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.replace(path)
