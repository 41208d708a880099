"""Lower-casing and letters by Unicode 14.0, the same on every interpreter (PROTOCOL §1, §4).

Python's own `str.lower` follows the Unicode version that the interpreter ships, so one text could get two
numbers. Here the text is cut at every code point that Unicode 14.0 does not know, and the one rule that looks
at neighbours, the final sigma, uses the properties of 14.0. All other mappings of characters known to 14.0 are
frozen by Unicode's stability policy; a test compares every code point with a fixed check value.

Imported only when a text is not plain ASCII: building the tables takes some milliseconds.
"""

from __future__ import annotations

import re
import unicodedata

from pith_builder import _unicode14_tables as tables

_UNASSIGNED = re.compile(f"([{tables.UNASSIGNED}]+)")
_MAY_BE_UNASSIGNED = re.compile("[\u0378-\U0010ffff]+")  # nothing below is; `re` tries the 698 ranges one by one
_ENDS_CASED = re.compile(f"[{tables.CASED}][{tables.CASE_IGNORABLE}]*\\Z")
_STARTS_CASED = re.compile(f"[{tables.CASE_IGNORABLE}]*[{tables.CASED}]")
_ONLY_IGNORABLE = re.compile(f"[{tables.CASE_IGNORABLE}]*\\Z")

_CAPITAL_SIGMA, _SMALL_SIGMA, _FINAL_SIGMA = "\u03a3", "\u03c3", "\u03c2"


def lower(text: str) -> str:
    """Full lower-casing by Unicode 14.0; code points unassigned there stay as they are."""
    if not _UNASSIGNED.search("".join(_MAY_BE_UNASSIGNED.findall(text))):
        return _lower_assigned(text)
    pieces = _UNASSIGNED.split(text)  # even places: text that 14.0 knows; odd places: what it doesn't
    pieces[::2] = map(_lower_assigned, pieces[::2])
    return "".join(pieces)


def _lower_assigned(text: str) -> str:
    parts = text.split(_CAPITAL_SIGMA)
    out = [parts[0].lower()]
    for i in range(1, len(parts)):  # the sigma between parts[i - 1] and parts[i]; a sigma itself is cased
        before, after = parts[i - 1], parts[i]
        follows_cased = bool(_ENDS_CASED.search(before)) or (i > 1 and bool(_ONLY_IGNORABLE.match(before)))
        precedes_cased = bool(_STARTS_CASED.match(after)) or (i < len(parts) - 1 and bool(_ONLY_IGNORABLE.match(after)))
        out += (_FINAL_SIGMA if follows_cased and not precedes_cased else _SMALL_SIGMA, after.lower())
    return "".join(out)


def letters_and_digits(text: str) -> str:
    """What of `text` counts in the order of authors: letters and digits of its NFKD form, lower-cased (PROTOCOL §4)."""
    known = _UNASSIGNED.sub("", text)
    if not known.isascii():  # marks never become letters, and long runs of them take very long to put in order
        known = "".join(c for c in known if not unicodedata.category(c).startswith("M"))
    return lower("".join(filter(str.isalnum, unicodedata.normalize("NFKD", known))))
