"""What a person's authenticator app does (RFC 6238), written apart from the console's own reading of it."""

import base64
import hashlib
import hmac
import struct
import time


def code_of(secret: str, *, later_s: int = 0) -> str:
    """The six digits that the app shows, `later_s` seconds from now."""
    counter = struct.pack(">Q", int(time.time() + later_s) // 30)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFFFFFF) % 10**6:06d}"
