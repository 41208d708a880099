"""Traps of PROTOCOL §1 beyond ASCII: texts whose hash goes wrong under another rule for lower case or whitespace."""

from __future__ import annotations

_ALL_WHITESPACE = (
    *("\t", "\n", "\x0b", "\x0c", "\r", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\x85", "\xa0", "\u1680"),
    *(chr(c) for c in range(0x2000, 0x200B)),
    *("\u2028", "\u2029", "\u202f", "\u205f", "\u3000"),
)

#: Name -> what the right rule does, and the text.
TRAPS: dict[str, tuple[str, str]] = {
    "final-sigma": (
        "capital sigma is ς at the end of a word, else σ, also beside marks",
        "ΣΟΦΟΣ ΑΣ. ΑΣ' ΑΣΑ Σ Α\u0301Σ\u0301",
    ),
    "dotted-capital-i": ("capital I with dot becomes two code points; dotless i stays", "İSTANBUL ıI"),
    "sharp-s": ("capital sharp s becomes ß and is not folded to ss", "STRAẞE Straße STRASSE"),
    "composed-accents": ("letters with accents as one code point (NFC) stay so", "Ångström É ÀÉÎÕÜ"),
    "decomposed-accents": ("letters with combining accents (NFD) stay so", "A\u030angstro\u0308m E\u0301"),
    "compatibility-letters": ("Kelvin and Angstrom signs become letters; Ohm too", "\u212a \u212b \u2126"),
    "ligatures": ("ligatures and full-width letters: no NFKC", "ﬁeld ﬂow ＦＵＬＬ ½ x² №"),
    "titlecase-digraphs": ("one letter in three cases", "ǅ Ǆ ǆ ǈ ǋ ǲ"),
    "cherokee": ("Cherokee capitals have small letters far away", "ᎠᎡᎢ Ᏸ"),
    "georgian": ("Georgian Mtavruli capitals have small letters", "ᲐᲑᲒ აბგ"),
    "astral-letters": ("letters beyond the first plane have cases as well", "𐐀𐐁 𞤀 𝐀𝐁"),
    "assigned-after-unicode-14": (
        "letters that Unicode got after 14.0 stay as they are",
        "\u1c89 \ua7cb \ua7da \U00010d50",
    ),
    "sigma-before-unassigned": (
        "a code point unknown to 14.0 ends a word for the sigma before it",
        "ΑΣ\U00010d4aΑ ΑΣ\U0001171eΑ ΑΣ\u1c89",
    ),
    "all-whitespace": ("every kind of whitespace becomes one space", "a" + "b".join(_ALL_WHITESPACE) + "c"),
    "no-whitespace": ("zero-width space, joiners and U+FEFF are no whitespace", "a\u200bb\u200c\u200d\u2060\ufeffc"),
    "control-characters": ("other control characters stay", "a\x01b\x7fc\x80d\x9fe"),
    "bidirectional": ("right-to-left text and its marks stay in their order", "שלום \u200fABC\u200e \u202eXYZ\u202c"),
    "emoji": ("symbols beyond the first plane, variation selectors and joiners stay", "🔬 👩\u200d🔬 ❤\ufe0f 🇬🇧"),
}
