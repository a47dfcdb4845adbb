"""A browser's picture with a palette of 256 colours, a third of its size: what is on a page has few colours.

Plain Python over the PNG specification (sections 4, 9 and 10): eight-bit RGB without interlacing, which is what
Chromium writes. A picture takes a few seconds. Knows nothing of pages.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHANNELS = 3
RGB, INDEXED = 2, 3
MOST_COLOURS = 256
Pixel = tuple[int, ...]


def with_palette(png: bytes) -> bytes:
    """The same picture in its 256 most frequent colours, every other one as the nearest of them."""
    chunks = dict(_joined(png))
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, RGB), f"not a picture of Chromium: depth {depth}, colour type {kind}"
    rows = [list(zip(*[iter(row)] * CHANNELS, strict=True)) for row in _rows(chunks[b"IDAT"], width, height)]
    palette, index = _palette(Counter(pixel for row in rows for pixel in row))
    pixels = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, INDEXED, 0, 0, 0)
    body = {b"IHDR": header, b"PLTE": palette, b"IDAT": zlib.compress(pixels, 9), b"IEND": b""}
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in body.items())


def _joined(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks by name; those of the pixels, which come in several, as one."""
    pixels, at = b"", len(SIGNATURE)
    while at < len(png):
        length, name = struct.unpack(">I4s", png[at : at + 8])
        data = png[at + 8 : at + 8 + length]
        at += 12 + length
        if name == b"IDAT":
            pixels += data
        else:
            yield name, data
    yield b"IDAT", pixels


def _rows(packed: bytes, width: int, height: int) -> Iterator[bytes]:
    raw, stride = zlib.decompress(packed), width * CHANNELS
    above = bytes(stride)
    for row in range(height):
        start = row * (stride + 1)
        above = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), above)
        yield above


def _unfiltered(kind: int, line: bytearray, above: bytes) -> bytes:
    if kind == 2:
        return bytes((one + other) & 255 for one, other in zip(line, above, strict=True))
    for at in range(len(line)) if kind else ():
        left = line[at - CHANNELS] if at >= CHANNELS else 0
        corner = above[at - CHANNELS] if at >= CHANNELS else 0
        guess = {1: left, 3: (left + above[at]) >> 1}.get(kind)
        line[at] = (line[at] + (_paeth(left, above[at], corner) if guess is None else guess)) & 255
    return bytes(line)


def _paeth(left: int, above: int, corner: int) -> int:
    """Whichever of the three is nearest to left + above - corner."""
    aim = left + above - corner
    return min((left, above, corner), key=lambda one: abs(aim - one))


def _palette(colours: Counter[Pixel]) -> tuple[bytes, dict[Pixel, int]]:
    kept = [pixel for pixel, _ in colours.most_common(MOST_COLOURS)]
    index = {pixel: number for number, pixel in enumerate(kept)}
    for pixel in colours.keys() - index.keys():
        index[pixel] = min(range(len(kept)), key=lambda number: _distance(kept[number], pixel))
    return b"".join(map(bytes, kept)), index


def _distance(one: Pixel, other: Pixel) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
