"""Texts with what the rules of PROTOCOL §1 and §4 trip over: titles, abstracts, author lists."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from pith_builder.text import EXCERPT_LENGTH, CanonicalText, canonical_text, unwrap

#: Everything that is whitespace (PROTOCOL §1), the usual first.
WHITESPACE = (
    " \n\t\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

#: Words that a rule of PROTOCOL §1 is about, or that another rule would change.
TRAPS = (
    *('Schr\\"odinger', "$\\alpha_{S}$", "{\\'E}tale", "``quoted''", "A--B", "x~y", "<p>", "&amp;", "End."),
    *("Caf\u00e9", "Cafe\u0301", "\u212b", "\ufb01n", "\u00bd", "\uff21", "\u212a", "\u2163"),  # no normal form
    *("\u0130stanbul", "DI\u0130", "STRA\u1e9eE", "stra\u00dfe", "\u01c5", "\u2126"),  # lower-casing, never folding
    *("\u039f\u0394\u039f\u03a3", "\u03a3", "\u0391\u03a3\u0391", "\u0391\u03a3.", "\u0391\u03a3\u0301", "1\u03a3"),
    *("\u0391\u03a3\U0001171e", "\u0378\u03a3", "A\u00adA", "\u0391\u03a3\u00ad\u0391"),  # sigma by context of 14.0
    *("\u0378", "\u1c89", "\ua7cb", "\ua7da", "\U00010d50", "\U0001e030"),  # not assigned in Unicode 14.0
    *("a\u200bb", "\ufeffa", "a\u2060b", "\u200d"),  # looks like a blank and is none
    *("\U00010400", "\U0001d538", "\U0001f600", "\uffff", "\ue000", "\u0301"),  # astral, no character, private, a mark
)

_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_BLANKS = st.sampled_from(WHITESPACE)
#: Between words of a title or abstract, as arXiv has them.
_WRAPS = st.sampled_from([" ", "\n", "  ", "\r\n", "\n  ", " \n", "\t\n", "\r", "\n   ", "\n\n", "\n \n  "])

_PLAIN = st.text("abcxyzABC019.,'-", min_size=1, max_size=8)
_WORDS = _PLAIN | st.sampled_from(TRAPS) | st.text(_CHARACTERS, min_size=1, max_size=4)


def texts() -> SearchStrategy[str]:
    """Any text that PROTOCOL §1 takes: no lone surrogate, no U+0000; blank and empty ones too."""
    return st.lists(_WORDS | _BLANKS, max_size=8).map("".join)


def canonical_texts() -> SearchStrategy[CanonicalText]:
    """Texts that went through `canonical_text` (PROTOCOL §1)."""
    return texts().map(canonical_text)


def _wrapped(max_words: int) -> SearchStrategy[str]:
    spaced = st.lists(st.tuples(_WORDS, _WRAPS | _BLANKS), min_size=1, max_size=max_words)
    return spaced.map(lambda pairs: "".join(word + blank for word, blank in pairs)).filter(str.strip)


def titles() -> SearchStrategy[str]:
    """Titles as a source gives them: wrapped, with TeX, never blank."""
    return _wrapped(6)


def abstracts() -> SearchStrategy[str]:
    """Abstracts as a source gives them: wraps, paragraph breaks, CRLF, and lengths around the 600 of the excerpt."""
    short = _wrapped(8)
    lengths = st.sampled_from([EXCERPT_LENGTH - 1, EXCERPT_LENGTH, EXCERPT_LENGTH + 1])
    exact = st.builds(_of_length, short, lengths, st.sampled_from("x\u00e9\U0001d538"))
    over_the_cut = st.builds(
        lambda filler, blank, rest: "x" * filler + blank + rest,
        st.integers(EXCERPT_LENGTH - 4, EXCERPT_LENGTH),
        _WRAPS | st.just("   \n"),
        short,
    )
    return short | exact | over_the_cut


def _of_length(start: str, length: int, filler: str) -> str:
    """An abstract that begins so and is unwrapped to exactly `length` code points."""
    start = start.strip()
    return start + filler * (length - len(unwrap(start)))


def author_lists() -> SearchStrategy[str]:
    """Raw author lists: commas and ands, torn affiliations, doubles, TeX and names beyond ASCII; also none."""
    known = st.sampled_from(
        [
            *("Ada Lovelace", "Luis C. Ho (5 and 6)", "S. Stojni\\'c", "O'Neill", "de la Cruz", "Ana-Maria B."),
            *("the X Collaboration", "Zoe (MIT, USA)", "A; B", "A & B", "\u00c9mile", "E\u0301mile", "\u03a3\u03a3"),
            *("And", "Anderson", "Roland", "e mile", "E-mile", "\u5c0f\u6797", "\u0378", "(", "."),
        ]
    )
    names = known | st.text("aBz .'-\u00e9\u0301\u03a3(", min_size=1, max_size=6)
    joints = st.sampled_from([", ", " and ", ", and ", ",", " , ", ",\n  ", "\nand "])
    pairs = st.lists(st.tuples(names, joints), max_size=6)
    return pairs.map(
        lambda found: "".join(name + joint for name, joint in found[:-1]) + "".join(n for n, _ in found[-1:])
    )
