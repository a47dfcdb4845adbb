"""Public keys for tests: two real ones, and any other made from its fields (RFC 4253 6.6)."""

import base64

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHodD9JWZeGUFaVuvrhdJc1yyoS5KGS1iHihbjG+hBJs ada@laptop"
ED25519_FINGERPRINT = "SHA256:9yNougxq71BeGgzX3xK4S4TZldPqrel6hjEauImemaI"
OTHER_ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC2E6Drng3WhaUWWJplkB0cT6/knZskz+bkIsH6brA11 ben@desk"


def key_line(type_: str, *fields: bytes, inside: str | None = None, comment: str = "a key") -> str:
    """A public key line of `type_` holding `fields`; `inside` is the type that the blob itself names."""
    blob = b"".join(len(f).to_bytes(4, "big") + f for f in ((inside or type_).encode(), *fields))
    return f"{type_} {base64.b64encode(blob).decode()} {comment}"


def rsa(bits: int) -> str:
    modulus = (1 << (bits - 1)) | 1
    return key_line("ssh-rsa", b"\x01\x00\x01", b"\x00" + modulus.to_bytes((bits + 7) // 8, "big"))
