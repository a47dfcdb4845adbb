"""The console's own secret keys, made once and kept in `var/secrets` (mode 0700).

`console.settings` reads them from there by the lower-case name of the setting, newest first, one a line.
"""

import base64
import os
import secrets
from pathlib import Path


def make_keys(directory: Path) -> None:
    """Make what is missing. Idempotent: an existing key is never replaced, for it opens what was sealed with it."""
    _keep(directory / "secret_key", secrets.token_urlsafe(48))
    # The form that Fernet asks for: 32 random bytes in URL-safe base64.
    _keep(directory / "sealing_keys", base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())


def _keep(path: Path, value: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with open(descriptor, "w") as file:
        file.write(value + "\n")
