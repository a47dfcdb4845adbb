"""A file that is sealed piece by piece under a key of its own, so that neither writing nor reading holds more than one.

The key is kept apart, sealed (`console.secrets`): rotation turns the keys and leaves the files alone, and a file whose
key is dropped is lost for good. After `MAGIC` each piece is four bytes of length (big endian) and what AES-256-GCM made
of it, with the piece's number as nonce: pieces that were changed, dropped or moved do not open. Where the last piece is
unfinished, as after a killed writer, the file ends before it.
"""

from collections.abc import Iterator
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC = b"quarterdeck sealed 1\n"
PIECE = 1 << 20
TAG = 16


class NotAuthentic(Exception):
    """The file is another's, was changed, or is none of ours."""


def make_key() -> bytes:
    return AESGCM.generate_key(256)


class Sealer:
    """Of one file, from what follows `MAGIC`. A key seals one file only: the nonces begin anew with each sealer."""

    def __init__(self, key: bytes) -> None:
        self._box = AESGCM(key)
        self._number = 0

    def seal(self, data: bytes) -> bytes:
        """What is to be appended for `data`, of any length."""
        return b"".join(self._piece(data[at : at + PIECE]) for at in range(0, len(data), PIECE))

    def _piece(self, data: bytes) -> bytes:
        sealed = self._box.encrypt(_nonce(self._number), data, None)
        self._number += 1
        return len(sealed).to_bytes(4, "big") + sealed


def opened(file: BinaryIO, key: bytes) -> Iterator[bytes]:
    """The pieces of a file as they were given to `seal`, at most `PIECE` each. Raises NotAuthentic. Blocks."""
    if file.read(len(MAGIC)) != MAGIC:
        raise NotAuthentic
    box = AESGCM(key)
    number = 0
    while len(head := file.read(4)) == 4:
        length = int.from_bytes(head, "big")
        if length > PIECE + TAG:
            raise NotAuthentic
        sealed = file.read(length)
        if len(sealed) < length:
            return
        try:
            yield box.decrypt(_nonce(number), sealed, None)
        except InvalidTag as error:
            raise NotAuthentic from error
        number += 1


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")
