"""Canonical text, unwrapping, excerpt and the order of authors (PROTOCOL §1, §4)."""

from __future__ import annotations

import hashlib

import pytest

from pith_builder import canonical_text, text_sha256
from pith_builder.errors import InvalidText
from pith_builder.text import EXCERPT_LENGTH, authors_text, collapse, excerpt, unwrap

WHITESPACE = [
    *(*range(0x09, 0x0E), *range(0x1C, 0x21), 0x85, 0xA0, 0x1680),
    *(*range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
]


# --- canonical text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("Title", "title"),
        ("  A\n  wrapped\ttitle \r\n", "a wrapped title"),
        ("One.\n\n  Two.", "one. two."),
        ('Schr\\"odinger', 'schr\\"odinger'),
        ("$\\mathbb{Z}_2$ -- a ~ <b> 'c' \"d\".", "$\\mathbb{z}_2$ -- a ~ <b> 'c' \"d\"."),
        ("", ""),
        (" \n ", ""),
        ("É\u00a0ß", "é ß"),
        ("e\u0301 \u00e9", "e\u0301 \u00e9"),
        ("\ufb01", "\ufb01"),
    ],
)
def test_canonical_text_changes_case_and_blanks_only(raw: str, canonical: str) -> None:
    assert canonical_text(raw) == canonical


def test_text_sha256_is_of_the_utf8_of_the_canonical_text() -> None:
    assert text_sha256("  ÉTÉ\n à ") == hashlib.sha256("été à".encode()).hexdigest()


def test_whitespace_is_exactly_the_list_of_the_protocol() -> None:
    code_points = [c for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    assert [c for c in code_points if collapse(f"a{chr(c)}b") == "a b"] == WHITESPACE


@pytest.mark.parametrize("code_point", WHITESPACE, ids=hex)
def test_each_whitespace_character_is_one_space(code_point: int) -> None:
    assert canonical_text(f"{chr(code_point)}a{chr(code_point) * 2}b{chr(code_point)}") == "a b"


@pytest.mark.parametrize("code_point", [0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF], ids=hex)
def test_an_invisible_character_is_no_whitespace(code_point: int) -> None:
    assert canonical_text(f"a{chr(code_point)}b") == f"a{chr(code_point)}b"


@pytest.mark.parametrize("bad", ["\0", "a\0b", "é\0", "\ud800", "a\udfffb", "\udc00\ud800"], ids=ascii)
def test_nul_and_lone_surrogates_are_refused(bad: str) -> None:
    with pytest.raises(InvalidText):
        canonical_text(bad)
    with pytest.raises(InvalidText):
        text_sha256(bad)


def test_a_refused_text_says_where() -> None:
    with pytest.raises(InvalidText, match="at character 3"):
        canonical_text("abc\0")


@pytest.mark.parametrize(
    ("bad", "message"),
    [("é\0", "U+0000 at character 1"), ("ab\ud800", r"lone surrogate '\ud800' at character 2")],
    ids=ascii,
)
def test_a_refused_text_says_what_is_wrong_and_what_to_do(bad: str, message: str) -> None:
    with pytest.raises(InvalidText) as caught:
        canonical_text(bad)
    assert caught.value.message == message
    assert str(caught.value.hint).startswith("fix the text at its source")


# --- unwrapping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "unwrapped"),
    [
        ("  One\ntwo.\n", "One two."),
        ("One\r\ntwo\rthree", "One two three"),
        ("One  \t\n\t two", "One two"),
        ("One.\n  Two.", "One.\n  Two."),
        ("One. \n   Two.", "One. \n   Two."),
        ("One.\n\n  Two.", "One. \n  Two."),
        ("One\n\ntwo", "One  two"),
        ("One\n  \ntwo", "One\n   two"),
        ("One\n\u00a0two", "One \u00a0two"),
        ("One\u00a0\ntwo", "One\u00a0 two"),
        ("One\n\x0btwo\x0c\nthree", "One \x0btwo\x0c three"),
        ("One.\n  \tTwo.", "One.\n  \tTwo."),
        ("MAX\nX X\n  XOR", "MAX X X\n  XOR"),
        ("One   two", "One   two"),
        ("\n  One", "One"),
        ("", ""),
        (" \n\t", ""),
    ],
    ids=ascii,
)
def test_unwrap_joins_lines_and_keeps_paragraphs(raw: str, unwrapped: str) -> None:
    assert unwrap(raw) == unwrapped


@pytest.mark.parametrize("end", ["", "\n", "b", "\nb", "\n  b", "\tb"], ids=ascii)
def test_unwrap_of_five_megabytes_of_blanks_ends(end: str) -> None:
    assert len(unwrap("a" + " " * 5_000_000 + end)) <= 5_000_000 + 5


def test_unwrap_of_a_million_wraps_ends() -> None:
    assert unwrap("a\n" * 1_000_000) == " ".join("a" * 1_000_000)


# --- excerpt ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 598, 599, 600, 601, 602, 603, 1200])
def test_excerpt_is_at_most_600_code_points(length: int) -> None:
    assert excerpt("\n  " + "é" * length + "\n") == "é" * min(length, EXCERPT_LENGTH)


@pytest.mark.parametrize("position", range(595, 604))
@pytest.mark.parametrize("wrap", ["\n", " \n", "\n ", "\n  ", "\n\n", "\r\n", "\r", "\t\n", "\n\t", "  \n", " \n \n"])
def test_excerpt_with_a_wrap_at_the_cut_is_that_of_the_unwrapped_abstract(position: int, wrap: str) -> None:
    abstract = "a" * position + wrap + "b" * 20
    assert excerpt(abstract) == unwrap(abstract)[:EXCERPT_LENGTH]


def test_excerpt_with_a_run_of_blanks_before_a_wrap_over_the_cut_is_that_of_the_unwrapped_abstract() -> None:
    abstract = "a" * 598 + "    \n" + "b" * 20
    assert excerpt(abstract) == unwrap(abstract)[:EXCERPT_LENGTH]


def test_excerpt_is_cut_inside_a_word_and_keeps_a_blank_at_the_cut() -> None:
    assert excerpt("a" * 599 + " b") == "a" * 599 + " "


def test_excerpt_counts_code_points_not_bytes() -> None:
    assert excerpt("\U0001d400" * 700) == "\U0001d400" * 600


# --- authors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "published"),
    [
        ("B, A", "A, B"),
        ("B and A", "A, B"),
        ("A, and B", "A, B"),
        ("A and B, and C", "A, B, C"),
        ("A,\n  B", "A, B"),
        ("A and\n  B", "A, B"),
        (" , A,, B ,", "A, B"),
        ("", ""),
        (", ,", ""),
        ("A AND B", "A AND B"),
        ("Alexandra Anderson", "Alexandra Anderson"),
        ("A; B", "A; B"),
        ("A & B", "A & B"),
        ("A (for the X collaboration)", "A (for the X collaboration)"),
        ("Luis C. Ho (5 and 6)", "6), Luis C. Ho (5"),
        ("A (1), B (2) ((1) Here, (2) There)", "(2) There), A (1), B (2) ((1) Here"),
        ("B, A, B, A", "A, B"),
        ("a b, A B", "A B, a b"),
        ("Milutin Stojni\\'c, C. Bal\\'azs", "C. Bal\\'azs, Milutin Stojni\\'c"),
    ],
    ids=ascii,
)
def test_authors_are_split_merged_and_sorted(raw: str, published: str) -> None:
    assert authors_text(raw) == published


@pytest.mark.parametrize(
    ("raw", "published"),
    [
        ("de Vries, Dahl", "Dahl, de Vries"),
        ("van B, VAN A", "VAN A, van B"),
        ("O'Neil, Ona", "Ona, O'Neil"),
        ("A-C, A B", "A B, A-C"),
        ("C.-P. Yuan, C. Bal\\'azs", "C. Bal\\'azs, C.-P. Yuan"),
        ("10 B, 2 A", "10 B, 2 A"),
        ("A, 1", "1, A"),
    ],
)
def test_order_of_authors_looks_at_letters_and_digits_alone(raw: str, published: str) -> None:
    assert authors_text(raw) == published


@pytest.mark.parametrize(
    ("raw", "published"),
    [
        ("a b, AB, A B, A-B", "A B, A-B, AB, a b"),
        ("\u00c9va, E\u0301va, Eva", "Eva, E\u0301va, \u00c9va"),
    ],
    ids=ascii,
)
def test_a_tie_of_authors_is_ordered_by_code_point(raw: str, published: str) -> None:
    assert authors_text(raw) == published


@pytest.mark.parametrize(
    ("raw", "published"),
    [
        ("Zed, \u00c9va, Eve", "\u00c9va, Eve, Zed"),
        ("Finz, \ufb01nn, Fina", "Fina, \ufb01nn, Finz"),
        ("Bo, \uff21da", "\uff21da, Bo"),
        ("B\u0378a, Bb", "B\u0378a, Bb"),
    ],
    ids=ascii,
)
def test_authors_beyond_ascii_are_ordered_by_their_nfkd_letters(raw: str, published: str) -> None:
    assert authors_text(raw) == published


def test_a_text_beyond_ascii_leaves_the_order_of_the_ascii_names() -> None:
    names = ["O'Neil", "Ona", "de Vries", "Dahl", "A-C", "A B"]
    ascii_order = authors_text(", ".join(names))
    assert authors_text(", ".join([*names, "\u00c9"])).replace(", \u00c9", "") == ascii_order


@pytest.mark.parametrize("part", [1, 2, 5, 17])
@pytest.mark.parametrize("s", ["Aé  bΣ c\n\n  ΑΣ\u2003\u2003", "é" * 40, " é ", "ΑΣ ΣΑ Σ\u0378 İ" * 3])
def test_a_huge_text_taken_by_parts_gives_the_same(s: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = canonical_text(s), collapse(s)
    monkeypatch.setattr("pith_builder.text._PART", part)
    assert (canonical_text(s), collapse(s)) == whole
