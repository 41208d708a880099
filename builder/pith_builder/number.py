"""Pith numbers: from a digest, from what people type, and back into short and spoken forms (PROTOCOL §3)."""

from __future__ import annotations

import base64
import re
from typing import Literal, Self

import base32_crockford
import msgspec

from pith_builder.errors import InvalidNumber, shown

#: Length of the suffix in base32 symbols: 130 bits of the digest.
SUFFIX_LENGTH = 26
SHORT_LENGTHS = (8, 12, 16)

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]  # base64.b32encode takes twice as long
_SHIFTS = range(120, -1, -10)

_SUFFIX = re.compile(r"[A-Z2-7]+", re.ASCII)
_YEAR = re.compile(r"(?:19|20)\d\d", re.ASCII)
_URL = re.compile(
    r"""(?:https?://)?[a-z0-9.-]+(?::\d+)?/
        (?: (?:\.well-known/)?pith/ | paper/ | api/pith-number/ )
        ([a-z0-9]+) (?: /[a-z0-9_./-]* | \.json )? (?:[?\#]\S*)?""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_SPOKEN = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*~$=")
_GROUP = 3


class PithNumber(msgspec.Struct, frozen=True):
    """A pith number, or a short form of one.

    `suffix` is 26 base32 symbols, or 8, 12 or 16 for a short form; `year` is None where the text that was read
    doesn't give it (short forms and bare suffixes).
    """

    suffix: str
    year: int | None = None

    @classmethod
    def from_digest(cls, digest: bytes, year: int) -> Self:
        """The number of a canonical SHA-256 (32 bytes) and the year of `submitted_at` (PROTOCOL §3)."""
        if len(digest) != 32:
            raise InvalidNumber(f"a digest has 32 bytes, not {len(digest)}")
        bits = int.from_bytes(digest[:17]) >> 6  # 130 of 136
        return cls("".join([_PAIRS[bits >> shift & 0x3FF] for shift in _SHIFTS]), year)

    @classmethod
    def parse(cls, s: str) -> Self:
        """Read a number, a short form of 8, 12 or 16 symbols, a bare suffix, or a registry URL; any case.

        Raises InvalidNumber with the reason.
        """
        text = s.strip()
        if not text.isascii():
            raise InvalidNumber(f"{shown(s)} is no pith number: it has symbols beyond ASCII", hint=_EXAMPLE)
        if "/" in text:
            if not (url := _URL.fullmatch(text)):
                raise InvalidNumber(f"{shown(s)} is not the URL of a pith record")
            text = url[1]
        parts = text.upper().split(":")
        if parts[0] == "PITH" and len(parts) in (2, 3):
            parts = parts[1:]
        elif len(parts) != 1:
            raise InvalidNumber(f"{shown(s)} is no pith number: it begins with pith:", hint=_EXAMPLE)
        year = None
        if len(parts) == 2:
            if not _YEAR.fullmatch(parts[0]):
                raise InvalidNumber(f"{shown(parts[0])} is no year of four digits", hint=_EXAMPLE)
            year = int(parts[0])
        suffix = _checked_suffix(parts[-1], s)
        if year is not None and len(suffix) != SUFFIX_LENGTH:
            raise InvalidNumber(
                f"a number with a year has {SUFFIX_LENGTH} symbols, {shown(s)} has {len(suffix)}",
                hint=f"a short form has no year: pith:{suffix}",
            )
        return cls(suffix, year)

    @property
    def is_short(self) -> bool:
        """Whether this is a short form, which may stand for several papers."""
        return len(self.suffix) != SUFFIX_LENGTH

    def short(self, length: Literal[8, 12, 16] = 8) -> str:
        """The first 8, 12 or 16 symbols of the suffix."""
        if length not in SHORT_LENGTHS or length > len(self.suffix):
            raise ValueError(f"no short form of {length} symbols of {self}")
        return self.suffix[:length]

    def transcription(self) -> str:
        """The form for print and telephone: 26 Crockford symbols and a check symbol, in groups of three.

        It holds the same 130 bits. The check symbol (mod 37) shows every single wrong symbol and every swap of
        neighbours.
        """
        if self.is_short:
            raise InvalidNumber(f"{self} is a short form; only a whole number has a transcription form")
        bits = int.from_bytes(base64.b32decode(self.suffix + "A" * 6)) >> 30
        symbols = base32_crockford.encode(bits, checksum=True).rjust(SUFFIX_LENGTH + 1, "0")
        return "-".join(symbols[i : i + _GROUP] for i in range(0, len(symbols), _GROUP))

    @classmethod
    def from_transcription(cls, s: str, year: int | None = None) -> Self:
        """Read a transcription form: any case, spaces and hyphens anywhere, O for 0, I or L for 1.

        Raises InvalidNumber if it isn't exactly 27 ASCII symbols or the check symbol doesn't fit.
        """
        symbols = s.replace("-", "").replace(" ", "")
        if len(symbols) != SUFFIX_LENGTH + 1 or not _SPOKEN.issuperset(symbols):
            raise InvalidNumber(
                f"a transcription form has {SUFFIX_LENGTH + 1} symbols (letters, digits, at the end also * ~ $ =), "
                f"{shown(s)} has {len(symbols)}" + ("" if _SPOKEN.issuperset(symbols) else " with others among them")
            )
        try:
            bits = base32_crockford.decode(symbols, checksum=True)
        except ValueError:
            raise InvalidNumber(
                f"{shown(s)}: the check symbol does not fit",
                hint="a symbol is wrong, or two neighbours are swapped; compare it with the source",
            ) from None
        return cls(base64.b32encode((bits << 30).to_bytes(20))[:SUFFIX_LENGTH].decode(), year)

    def __str__(self) -> str:
        return f"pith:{self.suffix}" if self.year is None else f"pith:{self.year}:{self.suffix}"


_EXAMPLE = "give it as pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE, pith:BMWHAH2D or the suffix alone"


def _checked_suffix(suffix: str, s: str) -> str:
    if not _SUFFIX.fullmatch(suffix):
        wrong = sorted({c for c in suffix if not _SUFFIX.fullmatch(c)})
        why = f"{', '.join(map(shown, wrong[:5]))} can't stand in it" if wrong else "it is empty"
        hint = "base32 has A-Z and 2-7; the transcription form has 27 symbols in groups of three"
        raise InvalidNumber(f"{shown(s)} is no pith number: {why}", hint=hint)
    if len(suffix) not in (*SHORT_LENGTHS, SUFFIX_LENGTH):
        raise InvalidNumber(
            f"{shown(s)} has {len(suffix)} symbols; a number has {SUFFIX_LENGTH}, a short form 8, 12 or 16"
        )
    return suffix
