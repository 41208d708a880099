"""Tests of the text rules: canonical text, author lists, excerpts (PROTOCOL §1, §4)."""

from __future__ import annotations

from collections.abc import Iterator

from pith_builder.testing.vectors.model import Case, invalid, valid
from pith_builder.testing.vectors.real import Real

#: Real titles with what a careless implementation changes: TeX, quotes, braces, dashes.
_MARKED = ("\\", "$", '"', "--", "~", "{", "'", "<", "?", "/")


def _real_titles(real: Real) -> Iterator[str]:
    titles = [case["title"] for case in real.lines("cases.jsonl") if case["title"]]
    for mark in _MARKED:
        yield from [title for title in titles if mark in title][:1]


def text(real: Real) -> Iterator[Case]:
    for title in dict.fromkeys(_real_titles(real)):
        yield valid("a published title", "Proven", "Real", text=title)
    for row in [row for row in real.lines("cases.jsonl") if row["abstract"]][:4]:
        yield valid("a published abstract", "Proven", "Real", text=row["abstract"])
    for comment, value, *flags in _PLAIN:
        yield valid(comment, "Proven", *flags, text=value)
    for comment, value, *flags in _OURS:
        yield valid(comment, *flags, text=value)
    yield invalid("U+0000 is an error", "Edge", text="a\0b")
    yield invalid("U+0000 alone is an error", "Edge", text="\0")
    yield invalid("a lone high surrogate is an error", "Surrogate", text="a\ud800b")
    yield invalid("a lone low surrogate is an error", "Surrogate", text="a\udfffb")
    yield invalid("a surrogate at the end is an error", "Surrogate", text="a\udbff")
    yield invalid("surrogates in the wrong order are two lone ones", "Surrogate", text="\udc00\ud800")
    yield valid("a code point beyond the basic plane is no surrogate", "Surrogate", text="\U0001d538 \U00010400")


_PLAIN: tuple[tuple[str, ...], ...] = (
    ("lower-case", "A Made-Up PAPER"),
    ("line wraps become one space", "A title\n  that is wrapped"),
    ("paragraph breaks become one space", "  One.\n  Two.\n\n  Three.\n"),
    ("every run of whitespace is one space", "a  b \t c\r\nd"),
    ("the ends are stripped", " \n a \t "),
    ("TeX accents stay", "Schr\\\"odinger and Poincar\\'e"),
    ("mathematics and braces stay", "The ${\\cal N}=4$ Theory"),
    ("quotes, dashes, tildes stay", "``A'' -- B~C---'D'"),
    ("a final full stop stays", "It ends."),
    ("angle brackets and ampersands stay", "A<B & C>D"),
    ("whitespace inside TeX is whitespace", "$ a \\  b $"),
)

_OURS: tuple[tuple[str, ...], ...] = (
    ("nothing", "", "Edge"),
    ("whitespace alone becomes nothing", " \t\n\u00a0\u3000 ", "Edge", "Whitespace"),
    *(
        (f"U+{code:04X} is whitespace", f"a{chr(code)}b{chr(code)}", "Whitespace")
        for code in (*range(0x09, 0x0E), *range(0x1C, 0x20), 0x85, 0xA0, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029)
    ),
    *((f"U+{code:04X} is whitespace", f"a{chr(code)}b{chr(code)}", "Whitespace") for code in (0x202F, 0x205F, 0x3000)),
    *(
        (f"U+{code:04X} is not whitespace", f"{chr(code)}a{chr(code)} {chr(code)}b", "Whitespace")
        for code in (0x08, 0x1B, 0x7F, 0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x2800, 0x3164)
    ),
    ("a letter beyond ASCII is lower-cased", "\u00c9COLE \u0416\u0394 \u0531", "Unicode"),
    ("no normalisation: composed stays composed", "caf\u00e9 \u212b", "Unicode"),
    ("no normalisation: decomposed stays decomposed", "cafe\u0301", "Unicode"),
    ("no compatibility mapping: ligatures and full-width stay", "\ufb01ne \uff21\uff22 \u2460", "Unicode"),
    ("no case folding: sharp s stays", "stra\u00dfe STRASSE", "Unicode"),
    ("capital sharp s is lower-cased to sharp s", "\u1e9e", "Unicode"),
    ("dotted capital I becomes two code points", "\u0130stanbul \u0130", "Unicode", "Full"),
    ("dotless i stays, plain I becomes i whatever the locale", "I\u0131", "Unicode"),
    ("the Kelvin sign becomes k, the Ohm sign omega", "\u212a \u2126", "Unicode"),
    ("a title-case digraph is lower-cased", "\u01c5 \u01c4", "Unicode"),
    ("letters beyond the basic plane are lower-cased", "\U00010400\U0001e900\U00016e40", "Unicode"),
    ("Georgian Mtavruli is lower-cased, Mkhedruli stays", "\u1c90 \u10d0", "Unicode"),
    ("Cherokee: small letters are the lower-case ones", "\u13a0\uab70", "Unicode"),
    ("a circled capital is lower-cased", "\u24b6 \u2160", "Unicode"),
    ("mathematical capitals have no lower-case form", "\U0001d400\U0001d538", "Unicode"),
    ("sigma at the end of a word is final", "\u039f\u0394\u039f\u03a3", "Unicode", "Sigma"),
    ("sigma in a word is not final", "\u03a3\u039f\u03a3\u0391", "Unicode", "Sigma"),
    ("sigma alone is not final", "\u03a3", "Unicode", "Sigma"),
    ("sigma alone between spaces is not final", "A \u03a3 B", "Unicode", "Sigma"),
    ("sigma before whitespace is final", "\u0391\u03a3\n\u0391", "Unicode", "Sigma"),
    ("two sigmas: the second is final", "\u03a3\u03a3", "Unicode", "Sigma"),
    ("three sigmas at the end", "\u0391\u03a3\u03a3\u03a3", "Unicode", "Sigma"),
    ("sigma after a Latin letter is final", "A\u03a3", "Unicode", "Sigma"),
    ("sigma after a digit is not final", "1\u03a3", "Unicode", "Sigma"),
    ("a case-ignorable full stop is passed over, before", "\u0391.\u03a3", "Unicode", "Sigma"),
    ("a case-ignorable full stop is passed over, behind", "\u0391\u03a3.\u0391", "Unicode", "Sigma"),
    ("a combining mark behind is passed over", "\u0391\u03a3\u0301", "Unicode", "Sigma"),
    ("a combining mark behind and a letter", "\u0391\u03a3\u0301\u0391", "Unicode", "Sigma"),
    ("an apostrophe is case-ignorable", "\u0391\u03a3'\u0391 \u0391\u03a3\u2019", "Unicode", "Sigma"),
    ("a hyphen is not case-ignorable", "\u0391\u03a3-\u0391", "Unicode", "Sigma"),
    ("a soft hyphen is case-ignorable", "\u0391\u03a3\u00ad\u0391", "Unicode", "Sigma"),
    ("zero width joiner is case-ignorable", "\u0391\u03a3\u200d\u0391", "Unicode", "Sigma"),
    ("a modifier letter is case-ignorable, cased though it is", "\u02b0\u03a3 \u0391\u03a3\u02b0", "Unicode", "Sigma"),
    ("a letter without case ends the search", "\u0391\u03a3\u05d0\u0391", "Unicode", "Sigma"),
    ("a lower-case sigma is left as it is", "\u03b1\u03c3 \u03b1\u03c2", "Unicode", "Sigma"),
    ("a sigma inside a run of sigmas with marks", "\u03a3.\u03a3.\u03a3", "Unicode", "Sigma"),
    ("U+0345 is cased and case-ignorable: passed over", "\u0345\u03a3 \u0391\u03a3\u0345", "Unicode", "Sigma"),
    ("U+1171E is case-ignorable in 14.0, not in 16.0", "\u0391\u03a3\U0001171e\u0391", "Unicode", "Sigma", "Version"),
    ("U+1C89 is unassigned in 14.0: it stays", "A\u1c89B", "Unicode", "Unassigned", "Version"),
    ("U+A7CB is unassigned in 14.0: it stays", "\ua7cb", "Unicode", "Unassigned", "Version"),
    ("U+A7DA is unassigned in 14.0: it stays", "\ua7da\ua7dc", "Unicode", "Unassigned", "Version"),
    ("U+10D50 is unassigned in 14.0: it stays", "\U00010d50", "Unicode", "Unassigned", "Version"),
    ("U+16EA0 is unassigned in 14.0: it stays", "\U00016ea0", "Unicode", "Unassigned", "Version"),
    ("U+A7C0 is assigned in 14.0: it is lower-cased", "\ua7c0\ua7d0\u2c2f", "Unicode", "Version"),
    ("an unassigned code point cuts the text: sigma before it", "\u0391\u03a3\u1c89\u0391", "Sigma", "Unassigned"),
    ("an unassigned code point cuts the text: sigma behind it", "\u0391\u0378\u03a3", "Sigma", "Unassigned"),
    ("noncharacters and U+10FFFF stay", "A\uffff\U0010ffffB", "Unicode", "Unassigned"),
    ("private use stays", "A\ue000B", "Unicode"),
    ("other control characters stay", "a\u0001b\u001bc\u007f", "Edge"),
    ("direction marks stay", "a\u200eb\u202ec", "Unicode"),
    ("an emoji with joiners stays", "\U0001f469\u200d\U0001f52c", "Unicode"),
    ("Chinese stays", "\u8bba\u6587 \u3000\u6807\u9898", "Unicode"),
)


def authors(real: Real) -> Iterator[Case]:
    for case in real.value("authors.json"):
        yield valid("a published author list", "Proven", "Real", authors=case["raw_authors"])
    for comment, value, *flags in _AUTHORS:
        yield valid(comment, *flags, authors=value)
    yield invalid("U+0000 is an error", "Edge", authors="A\0B")
    yield invalid("a lone surrogate is an error", "Surrogate", authors="A\ud800")
    for comment, value, *flags in _AUTHOR_EDGES:
        yield valid(comment, "Edge", *flags, authors=value)


_AUTHORS: tuple[tuple[str, ...], ...] = (
    ("nothing", "", "Edge"),
    ("whitespace and commas alone give nothing", " , and ,, ", "Edge"),
    ("one name", "Emmy Noether", "Proven"),
    ("split at commas and at ' and '", "B, A and C", "Proven"),
    ("'and' without blanks on both sides does not split", "Andrew Sand,Alexandra", "Proven"),
    ("' AND ' in capitals does not split", "A AND B", "Ours"),
    ("first the commas, then the ands, then strip: ', and ' leaves no empty name", "A, and B", "Proven"),
    ("a leading 'and ' after a comma without blank is part of the name", "B,and A", "Edge"),
    ("'and' at the very end is part of the name", "A and", "Edge"),
    ("' and and ' leaves the second and", "A and and B", "Edge"),
    ("whitespace is collapsed before the split: a wrapped and", "A\n  and\n  B", "Proven"),
    ("split inside parentheses too: affiliations are torn", "A (1, 2), B (5 and 6)", "Proven"),
    ("equal names are merged", "A, B, A", "Proven"),
    ("names that differ in case are not merged", "van A, Van A", "Ours"),
    ("the order ignores case", "bB, Ba, bc", "Proven"),
    ("the order ignores spaces and punctuation", "A. C, AB, A-D", "Proven"),
    ("digits count in the order", "A 2, A 10, A 1", "Proven"),
    ("digits before letters", "9z, a, 0a", "Proven"),
    ("equal keys: by code point of the name", "A.B, A B, AB, a b", "Ours"),
    ("names without letters and digits come first, by code point", "?, B, (, *", "Ours"),
    ("semicolons and ampersands do not split", "A; B & C", "Seen"),
    ("a collaboration stays in one piece", "A (for the X collaboration)", "Seen"),
    ("TeX accents stay and are not letters of their own", "Stojni\\'c, Stojnia, Stojnib", "Proven"),
    ("braces and backslashes don't count, their letters do", '{\\"O}zel, \\AA kesson, Zed', "Proven"),
    ("tilde is punctuation", "A.~B, A.C", "Proven"),
    ("runs of whitespace inside a name are one space", "A   B\n  C", "Proven"),
    ("non-breaking space is whitespace", "A\u00a0B,\u3000C", "Unicode"),
    ("NFKD: an accent is no letter", "\u00c9b, Ea, Ec", "Unicode", "NFKD"),
    ("NFKD: decomposed and composed have one key, by code point then", "E\u0301a, \u00c9a", "Unicode", "NFKD"),
    ("NFKD: o with stroke does not decompose", "\u00d8a, Ob, Za", "Unicode", "NFKD"),
    ("NFKD: a ligature is its letters", "\ufb01b, Fia, Fic", "Unicode", "NFKD"),
    ("NFKD: full-width letters and digits", "\uff21\uff12, A1, A3", "Unicode", "NFKD"),
    ("NFKD: superscript two is 2", "A\u00b2, A1, A3", "Unicode", "NFKD"),
    ("NFKD: a half is 1, a slash that doesn't count, 2", "A\u00bd, A11, A13", "Unicode", "NFKD"),
    ("NFKD: Hangul is taken apart", "\uac01, \uac00, \uac02", "Unicode", "NFKD"),
    ("a sharp s stays one letter", "\u00dfa, ssa, sz", "Unicode"),
    ("dotted capital I: the dot is a mark and no letter", "\u0130a, Ib, Ia", "Unicode", "Full"),
    ("lower-case as in §1: a final sigma in the key", "\u0391\u03a3, \u0391\u03c3\u0391, \u0391\u03c2\u0391", "Sigma"),
    ("keys are compared by code point", "\uff5eA, \U00010400, \ufb00, \u4e00", "Unicode", "Astral"),
    ("by code point, not by UTF-16: U+FF66 goes before U+10400", "\U00010400, \ua000", "Unicode", "Astral"),
    ("an unassigned code point is taken out of the key", "A\u1c89C, AB, AD", "Unicode", "Unassigned", "Version"),
    ("an unassigned code point is taken out before NFKD", "E\u1c89\u0301, Ea, E", "Unicode", "Unassigned"),
    ("Roman numerals and circled digits are numbers", "A\u2163, A\u2460, A0", "Unicode", "NFKD"),
    ("a letter number without decomposition counts", "A\u3007, A\u0030", "Unicode"),
    ("Greek and Cyrillic go behind Latin", "\u0391, Z, \u0410", "Unicode"),
    ("Arabic digits are digits", "A\u0661, Ab", "Unicode"),
    ("zero width space is kept in the name and not in its key", "A\u200bC, AB", "Unicode"),
)

_AUTHOR_EDGES: tuple[tuple[str, ...], ...] = (
    ("keys by code point, not by UTF-16: U+FA0E goes before U+10428", "\U00010428, \ufa0e", "Astral"),
    ("names of one key by code point, not by UTF-16: U+FFE5 goes before U+1F600", "A\U0001f600, A\uffe5", "Astral"),
    ("lower-cased behind NFKD: a mathematical capital A is an a", "ad, \U0001d400c, ab", "Unicode", "NFKD"),
    ("what lower-casing brings in is not decomposed again", "\u0130b, ic, ia", "Unicode", "NFKD"),
    (
        "marks are taken out before lower-casing: the sigma is final",
        "\u0391\u03a3-, \u0391\u03c3, \u0391\u03c2",
        "Sigma",
    ),
    ("a blank is taken out before lower-casing: no sigma is final", "\u0391\u03a3 \u0391, \u0391\u03c2\u0391", "Sigma"),
    ("a modifier letter is a letter, a modifier symbol is none", "a\u02b9c, ab, a\u02c2d", "Unicode"),
)


def excerpt(real: Real) -> Iterator[Case]:
    for name in ("2403.07648v2", "2407.14645v1"):
        abstract = real.value(f"seeds/{name}.metadata.json")["abstract"]
        yield valid("the abstract of a complete published record", "Seen", "Real", abstract=abstract)
    rows = real.lines("snapshot_rows.jsonl")
    for row in [row for row in rows if row["abstract"].count("\n  ") > 2][:3]:
        yield valid("an abstract with paragraph breaks, as arXiv wraps it", "Real", abstract=row["abstract"])
    for comment, value, *flags in _EXCERPTS:
        yield valid(comment, *flags, abstract=value)
    yield invalid("U+0000 is an error", "Edge", abstract="A\0")
    yield invalid("a lone surrogate is an error", "Surrogate", abstract="\udc00A")


_EXCERPTS: tuple[tuple[str, ...], ...] = (
    ("nothing", "", "Edge"),
    ("whitespace alone", " \n  \n ", "Edge"),
    ("case and TeX stay", "Let $X$ be \\emph{Big}.", "Seen"),
    ("a line wrap is one space", "one\ntwo", "Seen"),
    ("the ends are stripped", "  one\n", "Seen"),
    ("a paragraph break stays: newline and two spaces", "one\n  two", "Seen"),
    ("a newline with three spaces stays with them", "one\n   two"),
    ("a newline with one space is a wrap", "one\n two"),
    ("blanks before a wrap go", "one \t\ntwo"),
    ("tabs behind a wrap go", "one\n\t two"),
    ("a newline with tab and two spaces is a wrap", "one\n\t  two"),
    ("blanks before a paragraph break stay", "one  \n  two"),
    ("an empty line is two wraps: the first takes no newline with it", "one\n\ntwo"),
    ("an empty line and a paragraph break", "one\n\n  two"),
    ("three empty lines", "one\n\n\n\ntwo"),
    ("a line of two spaces is a paragraph break, and then a wrap", "one\n  \ntwo"),
    ("a line of blanks with a tab", "one\n \t \ntwo"),
    ("two paragraph breaks on end", "one\n  \n  two"),
    ("CRLF is LF", "one\r\ntwo\r\n  three"),
    ("CR is LF", "one\rtwo\r  three"),
    ("CR CR LF is two newlines", "one\r\r\ntwo"),
    ("runs inside a line stay", "one  two\t\tthree"),
    ("a paragraph break at the beginning is stripped", "\n  one"),
    ("other whitespace stays inside", "one\u00a0\u2003two\u2028three\x0bfour"),
    ("a non-breaking space behind a newline is no blank", "one\n\u00a0two"),
    ("the ends are stripped of all whitespace of §1", "\u3000\u00a0one\u2029\x1c"),
    ("zero width space is not stripped", "\u200bone\ufeff"),
    ("exactly 599 code points", "x" * 599, "Seen", "Cut"),
    ("exactly 600 code points", "x" * 600, "Seen", "Cut"),
    ("601 code points: the last goes", "x" * 600 + "y", "Seen", "Cut"),
    ("not stripped at the cut", "x" * 599 + " yz", "Seen", "Cut"),
    ("cut in the middle of a word, no ellipsis", "word " * 130, "Seen", "Cut"),
    ("cut after the wraps are taken out", ("x" * 9 + " \n") * 70, "Cut"),
    ("cut inside a paragraph break", "x" * 598 + "\n  y", "Cut"),
    ("blanks over the cut before a wrap go", "x" * 598 + "    \n" + "y" * 9, "Cut"),
    ("blanks over the cut inside a line stay", "x" * 598 + "    " + "y" * 9, "Cut"),
    ("stripped at the beginning before the cut", " " * 50 + "x" * 601, "Cut"),
    ("code points are counted, not UTF-16 units", "\U0001d538" * 601, "Cut", "Astral"),
    ("code points are counted, not bytes", "\u00e9" * 601, "Cut", "Unicode"),
    ("combining marks are code points of their own", "e\u0301" * 301, "Cut", "Unicode"),
)
