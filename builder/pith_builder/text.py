"""The text rules: canonical text, abstract excerpt, order of authors (PROTOCOL §1, §4).

Plain ASCII, which is nearly all of arXiv, takes a short way through bytes; other text goes through
`pith_builder.unicode14`. Both give the same result on ASCII text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import NewType

from pith_builder.errors import InvalidText, shown

#: Text that went through `canonical_text`.
CanonicalText = NewType("CanonicalText", str)

#: Length of `abstract_excerpt` in code points (PROTOCOL §4).
EXCERPT_LENGTH = 600

_ASCII_WHITESPACE = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f "
_LOWER = bytes(range(256)).lower()
_LOWER_AND_SPACE = bytes(0x20 if c in _ASCII_WHITESPACE else c for c in _LOWER)
_NOT_LETTER_OR_DIGIT = bytes(c for c in range(128) if not chr(c).isalnum() and chr(c) != "\n")
_WHITESPACE = re.compile(r"\s")  # for text, what str.split takes for whitespace
_PART = 2**20


def canonical_text(s: str) -> CanonicalText:
    """`s` lower-cased by Unicode 14.0, every run of whitespace one space, ends stripped (PROTOCOL §1).

    Raises InvalidText for a lone surrogate or U+0000.
    """
    return CanonicalText(_canonical_utf8(s).decode())


def text_sha256(s: str) -> str:
    """SHA-256 of the UTF-8 form of `canonical_text(s)`, as 64 lower-case hex digits (PROTOCOL §1)."""
    return hashlib.sha256(_canonical_utf8(s)).hexdigest()


def _canonical_utf8(s: str) -> bytes:
    check_text(s)
    if s.isascii():
        spaced = s.encode().translate(_LOWER_AND_SPACE).strip(b" ")
        while len(shorter := spaced.replace(b"  ", b" ")) < len(spaced):  # each turn halves the longest run
            spaced = shorter
        return spaced
    from pith_builder.unicode14 import lower

    return _by_parts(s, lambda part: " ".join(lower(part).split())).encode()


def check_text(s: str) -> None:
    """Raise InvalidText if `s` has U+0000 or a lone surrogate (PROTOCOL §1)."""
    if "\0" in s:
        raise InvalidText(f"U+0000 at character {s.index(chr(0))}", hint="fix the text at its source")
    if not s.isascii():
        try:
            s.encode()
        except UnicodeEncodeError as error:
            raise InvalidText(
                f"lone surrogate {shown(s[error.start])} at character {error.start}",
                hint="fix the text at its source: it was cut or decoded wrongly",
            ) from None


def collapse(s: str) -> str:
    """Every run of whitespace one space, ends stripped; case stays (the published title, PROTOCOL §4)."""
    return _by_parts(s, lambda part: " ".join(part.split()))


def _by_parts(s: str, change: Callable[[str], str]) -> str:
    """`change(s)`; of a huge text part by part, cut at whitespace, so that its words never all stand in memory."""
    if len(s) <= _PART:
        return change(s)
    parts, start = [], 0
    while start < len(s):
        space = _WHITESPACE.search(s, start + _PART)
        end = space.start() if space else len(s)
        parts.append(change(s[start:end]))
        start = end
    return " ".join(filter(None, parts))


def unwrap(abstract: str) -> str:
    """`abstract` without line wraps; a paragraph break (newline and two spaces or more) stays (PROTOCOL §4).

    CRLF and CR become LF, the ends are stripped, any other newline and the blanks around it become one space,
    runs inside a line stay. Idempotent.
    """
    text = abstract.strip()
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    starts_paragraph = [line.startswith("  ") for line in lines]
    out = []
    for i, line in enumerate(lines):
        body, indent = line, ""
        if i and starts_paragraph[i]:
            body = line.lstrip(" ")
            indent = "\n" + line[: len(line) - len(body)]
        elif i:
            body, indent = line.lstrip(" \t"), " "
        if i + 1 < len(lines) and not starts_paragraph[i + 1]:
            body = body.rstrip(" \t")
        out.append(indent + body)
    return "".join(out)


def excerpt(abstract: str) -> str:
    """The first 600 code points of the unwrapped abstract, cut where they end (PROTOCOL §4)."""
    head = abstract.strip()[: EXCERPT_LENGTH + 2]
    blank_over_the_cut = head.endswith("   ")  # a newline may follow, which takes the blanks before it away
    if "\n " in head or " \n" in head or "\t" in head or "\r" in head or blank_over_the_cut:
        return unwrap(abstract)[:EXCERPT_LENGTH]
    return head[:EXCERPT_LENGTH].replace("\n", " ")  # simple wraps only: one character stays one character


def authors_text(raw: str) -> str:
    """The published author list from arXiv's raw string: split, merged, sorted (PROTOCOL §4).

    Split at commas and at ` and `, also inside parentheses; the order is that of letters and digits alone, ties
    by code point of the name.
    """
    pieces = collapse(raw).replace(" and ", ",").split(",")
    names = list({name for piece in pieces if (name := piece.strip())})
    return ", ".join([name for _, name in sorted(zip(_collation_keys(names), names, strict=True))])


def _collation_keys(names: list[str]) -> list[bytes]:
    """For each name the UTF-8 of its letters and digits, lower-cased: what the order of authors looks at."""
    together = "\n".join(names)  # a collapsed name has no newline
    if names and together.isascii():
        return together.encode().translate(_LOWER, _NOT_LETTER_OR_DIGIT).split(b"\n")
    from pith_builder.unicode14 import letters_and_digits

    return [letters_and_digits(name).encode() for name in names]
