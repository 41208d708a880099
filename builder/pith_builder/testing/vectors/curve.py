"""Signatures that no signer makes, for the tests of §6: the curve's arithmetic is done by hand here."""

from __future__ import annotations

import hashlib

from pith_builder.signing import SeedSigner

P = 2**255 - 19
#: The order of the main subgroup of Ed25519.
L = 2**252 + 27742317777372353535851937790883648493

_D = -121665 * pow(121666, -1, P) % P

Point = tuple[int, int]

NEUTRAL: Point = (0, 1)
ORDER_2: Point = (0, P - 1)


def encode(point: Point) -> bytes:
    """A point, x and y, as 32 bytes (RFC 8032)."""
    return (point[1] | ((point[0] & 1) << 255)).to_bytes(32, "little")


def decode(raw: bytes) -> Point:
    """The point of 32 bytes that are one."""
    number = int.from_bytes(raw, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    u, v = (y * y - 1) % P, (_D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x if x & 1 == sign else P - x), y


def add(a: Point, b: Point) -> Point:
    """The sum of two points."""
    t = _D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + b[0] * a[1]) * pow(1 + t, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - t, -1, P)
    return x % P, y % P


def _times_base(scalar: int) -> Point:
    result, base = NEUTRAL, decode(b"\x58" + b"\x66" * 31)
    while scalar:
        if scalar & 1:
            result = add(result, base)
        base, scalar = add(base, base), scalar >> 1
    return result


class Forger(SeedSigner):
    """A signer whose signatures have `r` times the base point and `torsion`, together, as their R.

    `spelling` is put in the place of R where it is given. S is r + k a, below the order, as in any signature.
    """

    def __init__(
        self, key_id: str, seed: bytes, *, r: int = 0, torsion: Point = NEUTRAL, spelling: bytes = b""
    ) -> None:
        super().__init__(key_id, seed)
        secret = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
        self._scalar = secret & ((1 << 254) - 8) | (1 << 254)
        self._r, self._R = r, spelling or encode(add(_times_base(r), torsion))

    def sign(self, message: bytes) -> bytes:
        """The signature of `message`, 64 bytes."""
        k = int.from_bytes(hashlib.sha512(self._R + self.public_key + message).digest(), "little")
        return self._R + ((self._r + k * self._scalar) % L).to_bytes(32, "little")
